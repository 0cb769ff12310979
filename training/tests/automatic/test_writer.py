"""The training's thread copies a state; another thread writes it."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch

from tidewheel._latest_writer import LatestWriter
from tidewheel._state_copy import StateCopy
from tidewheel_automatic.saver import start_copy
from tidewheel_automatic.state.replicated import Replicated
from tidewheel_automatic.state.tensors import SavedTensor


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

    writer = LatestWriter()
    given = state(
        weight=SavedTensor(weight), other=Replicated({"buffer": SavedTensor(momentum), "step": 4})
    )
    start_copy(writer, {**given, "journal": journal}, write)
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


class Slow:
    """A disk that writes nothing before it may."""

    def __init__(self) -> None:
        self.may_write, self.is_writing = threading.Event(), threading.Event()
        self.seen = list[float]()

    def write(self, copied: dict[str, Any]) -> None:
        self.is_writing.set()
        assert self.may_write.wait(60)
        self.seen.append(float(copied["objects"]["tensor"].data))


def test_the_newest_state_takes_the_place_of_the_one_that_waits() -> None:
    writer, tensor, slow = LatestWriter(), torch.ones(1), Slow()
    for value in range(20):
        tensor.fill_(value)
        start_copy(writer, state(tensor=SavedTensor(tensor)), slow.write)
        assert slow.is_writing.wait(60)
    slow.may_write.set()
    writer.flush()
    assert slow.seen == [0, 19]
    assert not writer.is_busy


def test_short_memory_holds_one_copy() -> None:
    writer, tensor, slow = LatestWriter(free=lambda: 0), torch.ones(1), Slow()
    start_copy(writer, state(tensor=SavedTensor(tensor)), slow.write)
    assert slow.is_writing.wait(60)
    second = threading.Thread(target=start_copy, args=(writer, state(tensor=tensor), print))
    second.start()
    slow.may_write.set()
    second.join()
    writer.flush()
    assert (slow.seen, writer._copies) == ([1], 1)


def test_a_failed_write_is_raised_once() -> None:
    def fail(_copied: dict[str, Any]) -> None:
        raise OSError("no space left")

    writer = LatestWriter()
    start_copy(writer, state(), fail)
    with pytest.raises(OSError, match="no space left"):
        writer.flush()
    start_copy(writer, state(), lambda _copied: None)
    writer.flush()


def test_a_copy_from_a_gpu_is_whole_before_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    order = list[str]()

    def settle(_copy: StateCopy) -> float:
        order.append("settled")
        return 0.25

    monkeypatch.setattr(StateCopy, "settle", settle)
    writer = LatestWriter()
    start_copy(writer, state(), lambda _copied: order.append("written"))
    writer.flush()
    assert order == ["settled", "written"]
    assert writer.gpu_seconds == 0.25
