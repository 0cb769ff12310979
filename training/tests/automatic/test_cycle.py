"""Which steps of several optimizers end a round of the training."""

from __future__ import annotations

import pytest
import torch

from tidewheel_automatic.loop import Cycle


@pytest.mark.parametrize(
    ("steps", "complete"),
    [
        ("aaaa", "aaaa"),
        ("abababab", "ab-b-b-b"),
        ("aaabaaabaaab", "aaab---b---b"),
    ],
    ids=["one optimizer", "two in turn", "the second now and then"],
)
def test_a_round_ends_when_all_have_stepped(steps: str, complete: str) -> None:
    cycle, optimizers = Cycle(), {name: _optimizer() for name in "ab"}
    ends = [cycle.is_complete(i, optimizers[name]) for i, name in enumerate(steps, start=1)]
    assert ends == [mark != "-" for mark in complete]


def test_an_optimizer_of_an_earlier_phase_is_not_awaited() -> None:
    cycle, first, second = Cycle(), _optimizer(), _optimizer()
    assert cycle.is_complete(1, first)
    later = [cycle.is_complete(step, second) for step in range(2, 100)]
    assert all(later)


def _optimizer() -> torch.optim.Optimizer:
    return torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
