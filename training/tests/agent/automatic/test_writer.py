"""The training's thread copies a state; another thread writes it."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch

from tidewheel._state_copy import StateCopy
from tidewheel_automatic.replicated import Replicated
from tidewheel_automatic.snapshot import SavedTensor
from tidewheel_automatic.writer import Writer


def state(**objects: object) -> dict[str, Any]:
    return {"step": 7, "journal": [("item", 0.5)], "objects": objects}


def test_training_goes_on_while_a_state_is_written() -> None:
    weight = torch.nn.Parameter(torch.ones(3))
    weight.grad = torch.full((3,), 2.0)
    momentum = torch.ones(2)
    journal: list[Any] = [("item", 0.5)]
    may_write, written = threading.Event(), list[dict[str, Any]]()

    def write(copied: dict[str, Any]) -> None:
        assert may_write.wait(60)
        written.append(copied)

    writer = Writer()
    given = state(
        weight=SavedTensor(weight), other=Replicated({"buffer": SavedTensor(momentum), "step": 4})
    )
    writer.start({**given, "journal": journal}, write)
    assert writer.is_busy
    with torch.no_grad():
        weight.zero_()
        weight.grad.zero_()
        momentum.zero_()
    journal.append(("item", 0.25))
    may_write.set()
    writer.flush()
    objects = written[0]["objects"]
    assert objects["weight"].data.tolist() == [1, 1, 1]
    assert objects["weight"].grad.tolist() == [2, 2, 2]
    assert objects["weight"].is_parameter
    assert objects["other"].value["buffer"].data.tolist() == [1, 1]
    assert objects["other"].value["step"] == 4
    assert written[0]["journal"] == [("item", 0.5)]
    assert written[0]["step"] == 7


def test_a_copy_is_not_taken_before_the_last_one_is_written() -> None:
    writer, tensor, seen = Writer(), torch.ones(1), list[float]()

    def note(copied: dict[str, Any]) -> None:
        seen.append(float(copied["objects"]["tensor"].data))

    for value in range(20):
        tensor.fill_(value)
        writer.start(state(tensor=SavedTensor(tensor)), note)
    writer.flush()
    assert seen == [float(value) for value in range(20)]


def test_a_failed_write_is_raised_once() -> None:
    def fail(_copied: dict[str, Any]) -> None:
        raise OSError("no space left")

    writer = Writer()
    writer.start(state(), fail)
    with pytest.raises(OSError, match="no space left"):
        writer.flush()
    writer.start(state(), lambda _copied: None)
    writer.flush()


def test_a_copy_from_a_gpu_is_whole_before_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    order = list[str]()

    def settle(_copy: StateCopy) -> float:
        order.append("settled")
        return 0.25

    monkeypatch.setattr(StateCopy, "settle", settle)
    writer = Writer()
    writer.start(state(), lambda _copied: order.append("written"))
    writer.flush()
    assert order == ["settled", "written"]
    assert writer.gpu_seconds == 0.25
