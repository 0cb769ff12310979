"""The learning rate of each step, and the set-up that makes every run round alike."""

import math

import torch
from torch import nn


def rate_at(step: int, *, peak: float, warmup: int, total: int) -> float:
    """Learning rate of a step. It depends on the step alone, so a checkpoint need not hold it."""
    if step < warmup:
        return peak * (step + 1) / warmup
    share = (step - warmup) / max(1, total - warmup)
    return peak * 0.5 * (1 + math.cos(math.pi * min(1.0, share)))


def count_parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def settle_buckets(model: nn.Module, example: torch.Tensor) -> None:
    """Runs two backward passes, before any state is loaded.

    DistributedDataParallel lays its buckets out again after its first backward pass. With more than
    two ranks the layout decides the order of summation, so the first step of a resumed run would
    differ in the last bit. After two passes every step of every run has the final layout.
    """
    for _ in range(2):
        torch.autograd.backward(model(example).float().mean())
    model.zero_grad(set_to_none=True)
