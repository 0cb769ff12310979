"""Fake tensors of a GPU, on machines without one: what a replay of a CUDA script calls."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor

from tidewheel_automatic.fake_tensors import ReplayMode, without_modes


@pytest.fixture
def mode() -> Iterator[ReplayMode]:
    mode = ReplayMode()
    mode.begin()
    yield mode
    mode.end()


def on_gpu(mode: ReplayMode, *shape: int) -> torch.Tensor:
    with without_modes():
        meta = torch.empty(shape, device="meta")
    return FakeTensor(mode._fake, meta, torch.device("cuda", 0))


def test_pinned_memory_is_a_fake_of_its_own(mode: ReplayMode) -> None:
    batch = torch.empty(4, 3)
    pinned = batch.pin_memory()
    assert isinstance(pinned, FakeTensor)
    assert pinned is not batch
    assert (pinned.shape, pinned.device.type) == (batch.shape, "cpu")


def test_recurrent_layers_of_a_gpu_leave_cudnn_alone(mode: ReplayMode) -> None:
    inputs, state = on_gpu(mode, 2, 5, 3), on_gpu(mode, 1, 2, 4)
    shapes = ((16, 3), (16, 4), (16,), (16,))
    weights = [on_gpu(mode, *shape) for shape in shapes]
    outputs, *_ = torch.lstm(inputs, (state, state), weights, True, 1, 0.0, True, False, True)
    assert (tuple(outputs.shape), outputs.device.type) == ((2, 5, 4), "cuda")
    assert not torch.backends.cudnn.enabled


def test_cudnn_is_as_before_after_a_replay() -> None:
    for before in (False, True):
        torch.backends.cudnn.enabled = before
        mode = ReplayMode()
        mode.begin()
        mode.end()
        assert torch.backends.cudnn.enabled is before


def test_a_compiled_function_is_not_compiled_for_fake_tensors() -> None:
    compiled, mode = list[object](), ReplayMode()

    def backend(graph: torch.fx.GraphModule, _inputs: object) -> object:
        compiled.append(graph)
        return graph.forward

    double = torch.compile(lambda x: 2 * x, backend=backend)
    mode.begin()
    assert isinstance(double(torch.empty(3)), FakeTensor)
    assert compiled == []
    mode.end()
    assert double(torch.ones(3)).tolist() == [2, 2, 2]
    assert len(compiled) == 1
