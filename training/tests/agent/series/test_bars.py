"""Points of scripts whose only position is a progress bar."""

from __future__ import annotations

import pytest

from tidewheel_agent.series.log_lines import LogLines

LUCIDRAINS = """training:   0%|          | 0/100 [00:00<?, ?it/s]
training loss: 5.1
training loss: 5.05
training loss: 5.01
training:   3%|3         | 3/100 [00:10<05:00, 3.3s/it]
training loss: 4.9
validation loss: 4.8
training loss: 4.85
validation loss: 4.7"""

POSTFIX = """Map: 100%|##########| 64/64 [00:00<00:00, 900.1 examples/s]
  0%|          | 0/100 [00:00<?, ?it/s]
  1%|1         | 1/100 [00:01<01:39, 1.01s/it, loss=0.9, lr=1e-3]
 50%|#####     | 50/100 [00:50<00:50, 1.01s/it, loss=0.4, lr=1e-4]"""

DESCRIPTION = """loss: 0.912:   2%|2         | 2/100 [00:01<01:39, 1.01s/it]
loss: 0.402:  50%|#####     | 50/100 [00:50<00:50, 1.01s/it]"""

Points = list[tuple[float, dict[str, float]]]


def points(text: str, from_step: float = 0.0) -> Points:
    lines = LogLines(None, from_step)
    found = [point for line in text.split("\n") if (point := lines.read(line)) is not None]
    assert {point.unit for point in found} <= {"step"}
    return [(point.position, point.values) for point in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            LUCIDRAINS,
            [
                (0, {"training_loss": 5.1}),
                (3, {"training_loss": 4.9}),
                (3, {"validation_loss": 4.8}),
            ],
        ),
        (POSTFIX, [(1, {"loss": 0.9, "lr": 1e-3}), (50, {"loss": 0.4, "lr": 1e-4})]),
        (DESCRIPTION, [(2, {"loss": 0.912}), (50, {"loss": 0.402})]),
    ],
)
def test_a_bar_gives_metrics_their_position(text: str, expected: Points) -> None:
    assert points(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "training loss: 5.1",
        "  0%|   | 0/9 [00:00<?, ?it/s]\nthe loss: 5.1 was low\nbest loss: 3.0\nsaved 5",
        "Evaluating:  50%|##  | 5/10 [00:00<?, ?it/s, loss=0.3]\nloss: 0.3",
        "Epoch 0:  50%|##  | 5/10 [00:00<?, ?it/s]\nloss: 0.3",
        "model.safetensors: 100%|##| 3.2M/3.2M [00:00<00:00, 9MB/s]\nloss: 0.3",
    ],
)
def test_other_bars_and_sentences_give_none(text: str) -> None:
    assert points(text) == []


@pytest.mark.parametrize(
    "later",
    [
        "  1%|   | 1/100 [00:01<?, ?it/s, loss=0.7]",
        "  2%|   | 2/50 [00:01<?, ?it/s, loss=0.7]",
    ],
)
def test_a_bar_that_begins_again_ends_the_points(later: str) -> None:
    first = "  2%|   | 2/100 [00:01<?, ?it/s, loss=0.9]"
    last = " 99%|## | 99/100 [00:01<?, ?it/s, loss=0.1]"
    assert points(f"{first}\n{later}\n{last}") == [(2, {"loss": 0.9})]


def test_a_resumed_bar_counts_from_the_checkpoint() -> None:
    restored = " 20%|##   | 20/100 [00:01<?, ?it/s, loss=0.5]"
    assert points(restored, from_step=21) == [(20, {"loss": 0.5})]
    assert points(restored.replace("20/", "0/"), from_step=21) == []
