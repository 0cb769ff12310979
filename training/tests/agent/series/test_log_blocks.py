"""Points that frameworks and tutorials print over several lines."""

from __future__ import annotations

import pytest

from tidewheel_agent.series.log_lines import LogLines

PYTORCH_QUICKSTART = """Epoch 1
-------------------------------
loss: 2.303494  [   64/60000]
loss: 2.294637  [ 6464/60000]
Test Error:
 Accuracy: 43.5%, Avg loss: 2.155813

Epoch 2
-------------------------------
loss: 2.100000  [   64/60000]"""

TRANSFER_LEARNING = """Epoch 0/24
----------
train Loss: 0.5923 Acc: 0.7213
val Loss: 0.2000
Epoch 1/24
----------
train Loss: 0.4000"""

LOGGER = """2026-11-26 10:00:00.123: Epoch 5
2026-11-26 10:00:01.123: train_loss: -0.2"""

FASTAI = """epoch     train_loss  valid_loss  accuracy  time
0         0.512345    0.412345    0.812345  00:03
1         0.4         0.3         0.9       00:03"""

SKORCH = """  epoch    train_loss    valid_acc    cp     dur
-------  ------------  -----------  ----  ------
      1        \x1b[36m0.6868\x1b[0m       \x1b[32m0.6000\x1b[0m     +  0.0325
      2        0.7000       0.6500        0.0300"""

ULTRALYTICS = """      Epoch    GPU_mem   box_loss  Instances       Size
        1/3         0G      1.234         10        640:  50%|#####     | 2/4 [00:03<00:00]
        1/3         0G        1.2         10        640: 100%|##########| 4/4 [00:03<00:00]
                 Class     Images  Instances      Box(P          R      mAP50
                   all          4         17      0.123      0.456      0.321"""

STABLE_BASELINES = """-----------------------------------
| rollout/           |            |
|    ep_rew_mean     | 22.1       |
| time/              |            |
|    fps             | 1000       |
|    iterations      | 1          |
|    total_timesteps | 2048       |
| train/             |            |
|    value_loss      | 1.2e+03    |
-----------------------------------"""

SPACY = """E    #       LOSS TOK2VEC  LOSS NER  ENTS_F  SPEED   SCORE 
---  ------  ------------  --------  ------  ------  ------
  0       0          0.00     45.50    0.00  9981.5    0.00
  0     200         95.67   1745.77   77.22  9122.0    0.77
Aborting and saving the final best model."""

KERAS_2 = """Epoch 1/3
 10/100 [==>...........................] - ETA: 1s - loss: 0.5
100/100 [==============================] - 1s 3ms/step - loss: 0.4"""


@pytest.mark.parametrize(
    ("text", "unit", "points"),
    [
        (
            PYTORCH_QUICKSTART,
            "epoch",
            [
                (1.001067, {"loss": 2.303494}),
                (1.107733, {"loss": 2.294637}),
                (1.0, {"Accuracy": 43.5, "Avg_loss": 2.155813}),
                (2.001067, {"loss": 2.1}),
            ],
        ),
        (
            TRANSFER_LEARNING,
            "epoch",
            [
                (0, {"train_Loss": 0.5923, "Acc": 0.7213}),
                (0, {"val_Loss": 0.2}),
                (1, {"train_Loss": 0.4}),
            ],
        ),
        (
            "STEP:  3\nloss: 0.5\ntest loss: 0.4",
            "step",
            [(3, {"loss": 0.5}), (3, {"test_loss": 0.4})],
        ),
        (LOGGER, "epoch", [(5, {"train_loss": -0.2})]),
        (
            FASTAI,
            "epoch",
            [
                (0, {"train_loss": 0.512345, "valid_loss": 0.412345, "accuracy": 0.812345}),
                (1, {"train_loss": 0.4, "valid_loss": 0.3, "accuracy": 0.9}),
            ],
        ),
        (
            SKORCH,
            "epoch",
            [
                (1, {"train_loss": 0.6868, "valid_acc": 0.6}),
                (2, {"train_loss": 0.7, "valid_acc": 0.65}),
            ],
        ),
        (ULTRALYTICS, "epoch", [(0.5, {"box_loss": 1.234}), (1, {"box_loss": 1.2})]),
        (
            STABLE_BASELINES,
            "step",
            [(2048, {"rollout/ep_rew_mean": 22.1, "train/value_loss": 1200})],
        ),
        (
            SPACY,
            "step",
            [
                (
                    step,
                    {"LOSS_TOK2VEC": a, "LOSS_NER": b, "ENTS_F": c, "SPEED": d, "SCORE": e},
                )
                for step, a, b, c, d, e in (
                    (0, 0.0, 45.5, 0.0, 9981.5, 0.0),
                    (200, 95.67, 1745.77, 77.22, 9122.0, 0.77),
                )
            ],
        ),
        (KERAS_2, "epoch", [(0.1, {"loss": 0.5}), (1, {"loss": 0.4})]),
    ],
)
def test_lines_together_are_points(
    text: str, unit: str, points: list[tuple[float, dict[str, float]]]
) -> None:
    lines = LogLines()
    found = [point for line in text.split("\n") if (point := lines.read(line)) is not None]
    assert [(point.position, point.values) for point in found] == points
    assert {point.unit for point in found} == {unit}


@pytest.mark.parametrize(
    "text",
    [
        "Epoch 3 of a long story\nloss: 0.5",
        "Epoch 3\nthe loss 0.5 was lower than 3",
        "epoch loss\nthe 3\n3 words here",
        "| loss | 0.5 |\n----------------",
        "E    #       LOSS\n0    1       2.0",
        "A    #       LOSS\n---  ------  ----\n0    1       2.0",
        "----------------\n| a | b | c |\n----------------",
    ],
)
def test_lines_that_only_look_alike_are_none(text: str) -> None:
    lines = LogLines()
    assert [lines.read(line) for line in text.split("\n")] == [None] * len(text.split("\n"))
