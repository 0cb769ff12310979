"""Recurrent layers whose dropout cuDNN draws, on machines without a GPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from tidewheel_automatic.hooks import DROPOUT_REASON, hook_recurrent_layers

HX, WEIGHTS, LENGTHS = torch.zeros(2, 1, 4), [torch.zeros(1)], torch.ones(2)


def inputs(device: str) -> torch.Tensor:
    return FakeTensor(FakeTensorMode(), torch.empty(5, 1, 3, device="meta"), torch.device(device))


def padded(layers: int, dropout: float, *, train: bool) -> tuple[Any, ...]:
    return HX, WEIGHTS, True, layers, dropout, train, False, True


def packed(layers: int, dropout: float, *, train: bool) -> tuple[Any, ...]:
    return LENGTHS, (HX, HX), WEIGHTS, True, layers, dropout, train, False


@pytest.mark.parametrize(
    ("name", "device", "rest", "is_refused"),
    [
        ("gru", "cuda:0", padded(2, 0.3, train=True), True),
        ("lstm", "cuda:0", packed(2, 0.3, train=True), True),
        ("lstm", "cuda:0", padded(2, 0.0, train=True), False),
        ("lstm", "cuda:0", padded(1, 0.3, train=True), False),
        ("rnn_tanh", "cuda:0", padded(2, 0.3, train=False), False),
        ("gru", "cpu", packed(2, 0.3, train=True), False),
    ],
)
def test_only_dropout_that_cudnn_draws_is_refused(
    name: str,
    device: str,
    rest: tuple[Any, ...],
    is_refused: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for place in (torch, torch._VF):
        for each in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
            monkeypatch.setattr(place, each, lambda *_args: "result")
    reasons: list[str] = []
    hook_recurrent_layers(reasons.append)
    assert getattr(torch._VF, name)(inputs(device), *rest) == "result"
    assert reasons == [DROPOUT_REASON] * is_refused
    with torch.backends.cudnn.flags(enabled=False):
        getattr(torch._VF, name)(inputs(device), *rest)
    assert len(reasons) == is_refused
