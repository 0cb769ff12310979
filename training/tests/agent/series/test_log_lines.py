"""Points in lines as frameworks and well-known scripts print them."""

from __future__ import annotations

import math
import random
import time

import pytest

from tidewheel_agent.declared_pattern import DeclaredPattern
from tidewheel_agent.series.log_lines import LogLines


@pytest.mark.parametrize(
    ("line", "unit", "position", "values"),
    [
        ("tidewheel step=3 total=9 loss=0.5", "step", 3, {"loss": 0.5}),
        # Hugging Face's Trainer, before and since version 5.
        (
            "{'loss': 0.5, 'grad_norm': 1.2, 'epoch': 0.33}",
            "epoch",
            0.33,
            {"loss": 0.5, "grad_norm": 1.2},
        ),
        ("{'eval_loss': '0.25', 'epoch': '1'}", "epoch", 1, {"eval_loss": 0.25}),
        # XGBoost and LightGBM.
        (
            "[12]\ttrain-rmse:0.51\teval-rmse:0.6",
            "step",
            12,
            {"train-rmse": 0.51, "eval-rmse": 0.6},
        ),
        (
            "[7]\tvalid_0's auc: 0.91\tvalid_0's l2: 0.2",
            "step",
            7,
            {"valid_0-auc": 0.91, "valid_0-l2": 0.2},
        ),
        # Lightning's bar, as tqdm prints it.
        (
            "Epoch 3:  40%|████    | 4/10 [00:00<00:00, 10.5it/s, v_num=0, train_loss=0.512]",
            "epoch",
            3.4,
            {"train_loss": 0.512},
        ),
        # nanoGPT.
        ("iter 80: loss 2.31, time 20.00ms, mfu 3.00%", "step", 80, {"loss": 2.31}),
        ("round 20: acc=0.9400", "step", 20, {"acc": 0.94}),
        (
            "step 100: train loss 2.3, val loss 2.4",
            "step",
            100,
            {"train_loss": 2.3, "val_loss": 2.4},
        ),
        # pytorch/examples: imagenet and mnist.
        (
            "Epoch: [2][ 10/100]\tTime  0.513 ( 0.6)\tLoss 6.9e+00 (7e+00)\tAcc@1   0.39 (  0.1)",
            "epoch",
            2.1,
            {"Loss": 6.9, "Acc@1": 0.39},
        ),
        ("Train Epoch: 1 [640/64000 (1%)]\tLoss: 2.3", "epoch", 1.01, {"Loss": 2.3}),
        # timm.
        (
            "Train: 0 [  50/100 ( 51%)]  Loss: 6.9 (6.93)  Time: 0.2s, 160/s  LR: 1.000e-05",
            "epoch",
            0.5,
            {"Loss": 6.9, "LR": 1e-05},
        ),
        ("epoch 3 … loss 0.12, acc 91.2%", "epoch", 3, {"loss": 0.12, "acc": 91.2}),
        ("[2026-11-23] INFO epoch=2 step=400 loss=0.2", "step", 400, {"loss": 0.2}),
        ("Step 1,200 | loss 2.31", "step", 1200, {"loss": 2.31}),
        # MMEngine; MindSpore; DeepSpeed; DCGAN and REINFORCE of pytorch/examples; CleanRL.
        (
            "mmengine - INFO - Epoch(train)   [1][ 50/100]  lr: 1.0e-02  time: 0.01  loss: 0.51",
            "epoch",
            1.5,
            {"lr": 0.01, "loss": 0.51},
        ),
        ("Iter(train) [  50/1000]  eta: 0:00:10  loss: 0.51", "step", 50, {"loss": 0.51}),
        ("epoch: 1 step: 10, loss is 2.3", "step", 10, {"loss": 2.3}),
        ("[Rank 0] step=10, skipped=0, lr=[0.001], mom=[(0.9, 0.9)]", "step", 10, {"lr": 0.001}),
        (
            "[3/25][10/100] Loss_D: 1.2 Loss_G: 3.4 D(x): 0.6",
            "epoch",
            3.1,
            {"Loss_D": 1.2, "Loss_G": 3.4},
        ),
        ("Episode 100\tLast reward: 10.00", "step", 100, {"reward": 10}),
        ("global_step=408, episodic_return=[-10.5]", "step", 408, {"episodic_return": -10.5}),
        # CatBoost.
        (
            "10:\tlearn: 0.53\ttest: 0.55\tbest: 0.54 (9)\ttotal: 60ms\tremaining: 1s",
            "step",
            10,
            {"learn": 0.53, "test": 0.55, "best": 0.54},
        ),
        # fairseq, and other lines of JSON.
        (
            '2026-11-26 | INFO | train_inner | {"epoch": 1, "loss": "3.2", "num_updates": "80"}',
            "step",
            80,
            {"loss": 3.2},
        ),
        (
            '{"epoch": 1, "best": true, "next": null, "val": {"loss": 2}}',
            "epoch",
            1,
            {"val/loss": 2},
        ),
    ],
)
def test_a_line_is_a_point(line: str, unit: str, position: float, values: dict[str, float]) -> None:
    point = LogLines().read(line)
    assert point is not None
    assert (point.unit, point.position, point.values) == (unit, position, values)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "loss 3",
        "error: step 3 has a problem",
        "{'a': 1}",
        "{'loss': 0.5, 'epoch': nan}",
        "tidewheel step=nan loss=0.5",
        "100%|██████████| 10/10 [00:01<00:00,  9.9it/s, loss=0.3]",
        "step 3 of 10 took 3.5 s",
        "Epoch 1: val_loss improved from inf to 0.4",
        "Iter(val) [10/10]  loss: 0.4",
        "2: the learning rate: 0.1",
    ],
)
def test_a_line_without_position_or_metric_is_none(line: str) -> None:
    assert LogLines().read(line) is None


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("{'loss': nan, 'grad_norm': 0.5, 'epoch': 1}", "loss"),
        ("{'loss': 'nan', 'epoch': 1}", "loss"),
        ('{"epoch": 1, "val": {"acc": NaN}}', "val/acc"),
        ("epoch 3 … loss NaN, acc 91.2%", "loss"),
        ("tidewheel step=3 loss=-inf", "loss"),
        ("[10]\ttrain-logloss:nan\teval-logloss:0.5", "train-logloss"),
        ("| epoch 1 | 20/100 batches | loss inf | ppl 9.97", "loss"),
    ],
)
def test_a_value_that_is_no_number_is_told(line: str, name: str) -> None:
    point = LogLines().read(line)
    assert point is not None
    assert not math.isfinite(point.values[name])


@pytest.mark.parametrize(
    ("from_step", "line", "position", "is_of_start"),
    [
        (142.0, "[0]\ttrain-logloss:0.009", 142, True),
        (0.0, "[0]\ttrain-logloss:0.46", 0, False),
        (math.inf, "[0]\ttrain-logloss:0.009", 0, True),
        (142.0, "[143]\tvalid_0's l2: 0.24", 143, False),
    ],
)
def test_xgboost_goes_on_after_the_rounds_before(
    from_step: float, line: str, position: float, is_of_start: bool
) -> None:
    lines = LogLines(from_step=from_step)
    point, later = lines.read(line), lines.read(line.replace("[", "[1", 1))
    assert point is not None and later is not None
    assert (point.position, point.is_of_start) == (position, is_of_start)
    assert later.position > position


def test_keras_names_the_epoch_on_a_line_of_its_own() -> None:
    lines = LogLines()
    assert lines.read("469/469 - 5s - 10ms/step - loss: 0.05") is None
    lines.read("Epoch 3/12")
    half = lines.read("\x1b[1m100/200\x1b[0m \x1b[32m━━━━\x1b[0m 5s 10ms/step - loss: 0.3")
    assert half is not None and (half.position, half.values) == (2.5, {"loss": 0.3})
    end = lines.read("200/200 - 5s - 10ms/step - loss: 0.2 - val_loss: 1.0e-03")
    assert end is not None and (end.position, end.values) == (3, {"loss": 0.2, "val_loss": 0.001})


def test_paddle_counts_its_steps_anew_in_each_epoch() -> None:
    lines = LogLines()
    read = ["Epoch 1/15", "step  20/128 [===>....] - loss: 0.9 - acc: 0.5 - 9ms/step"]
    read += ["step 128/128 [=======] - loss: 0.5 - acc: 0.7 - 9ms/step", "Epoch 2/15"]
    read += ["step  64/128 [===>....] - loss: 0.4 - acc: 0.8 - 9ms/step"]
    points = [point for line in read if (point := lines.read(line)) is not None]
    assert [point.position for point in points] == [0.15625, 1, 1.5]
    assert points[-1].values == {"loss": 0.4, "acc": 0.8}


@pytest.mark.parametrize(
    ("line", "position"),
    [
        ("Namespace(epochs=20, steps=1000, lr=0.1)", None),
        ("engine/trainer: epochs=20, iters=5, lr0=0.01, momentum=0.9", None),
        ("steps=1000 loss=0.1", 1000),
        ("step=10, lr=0.1, loss=0.3", 10),
    ],
)
def test_a_setting_is_no_position(line: str, position: float | None) -> None:
    point = LogLines().read(line)
    assert (point.position if point else None) == position


@pytest.mark.parametrize(
    ("text", "position", "values"),
    [
        ("AUC: 0.7\nAUC: 0.91, RMSE: 3.2", 0, {"AUC": 0.91, "RMSE": 3.2}),
        ("[98]\tauc:0.8\n[99]\tauc:0.9\nTest accuracy: 93.1%", 99, {"Test_accuracy": 93.1}),
        ("lr: 0.1\nstep 5 lr 0.01 loss 0.5\nval_loss: nan", 5, {"val_loss": math.nan}),
        ("the loss: 5.1 was low\nepoch 3", 0, {}),
        ("acc 1.0\nval loss -.5, f1 nan", 0, {"acc": 1.0, "val_loss": -0.5, "f1": math.nan}),
        ("error 404\nloss 2\nversion 1.0\nlowest loss 0.1\nloss 0.1 s\nmap 0.5.1", 0, {}),
    ],
)
def test_metrics_without_a_position_count_at_the_end(
    text: str, position: float, values: dict[str, float]
) -> None:
    lines = LogLines()
    for line in text.split("\n"):
        lines.read(line)
    last = lines.last()
    assert (last.position, repr(last.values)) == (position, repr(values))


def test_a_declared_pattern_overrules_every_guess() -> None:
    lines = LogLines(DeclaredPattern("pattern", r"at (?P<step>[\d,]+) cost (?P<cost>\S+)"))
    point = lines.read("at 1,200 cost 0.5")
    assert point is not None and (point.position, point.values) == (1200, {"cost": 0.5})
    assert lines.read("step 3 loss 0.2") is None


def test_no_line_takes_long_or_ends_the_reader() -> None:
    chance = random.Random(1)
    parts = [
        "epoch ",
        "step=",
        "[1]\t",
        "loss: ",
        "0.5",
        "'s ",
        ":",
        "{'",
        "}",
        "/",
        "\x00",
        "é",
        "(",
    ]
    lines, started = LogLines(), time.process_time()
    for _ in range(200):
        lines.read("".join(chance.choice(parts) for _ in range(1500)))
    huge = f"epoch 1 step 1{',000' * 200}/2 loss 0.5"
    for text in ("{" * 3000 + "}", "[1]" + " a" * 5000, "1" * 9000, "a:" * 5000, huge):
        lines.read(text)
    assert time.process_time() - started < 5
