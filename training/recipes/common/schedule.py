"""How fast a model learns, and that it does so alike in every run."""

from __future__ import annotations

import math

import torch
from torch import nn


def rate_at(step: int, *, peak: float, warmup: int, total: int) -> float:
    """Learning rate of a step: a function of the step alone, so nothing of it has to be saved."""
    if step < warmup:
        return peak * (step + 1) / warmup
    share = (step - warmup) / max(1, total - warmup)
    return peak * 0.5 * (1 + math.cos(math.pi * min(1.0, share)))


def count_parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def settle_buckets(model: nn.Module, example: torch.Tensor) -> None:
    """Two backward passes, before any state is loaded.

    DistributedDataParallel lays its buckets out anew after its first backward pass. With more than
    two ranks the layout decides the order of summation, so a resumed run would differ in the last
    bit at its first step; after this every step of every run has the final layout.
    """
    for _ in range(2):
        torch.autograd.backward(model(example).float().mean())
    model.zero_grad(set_to_none=True)
