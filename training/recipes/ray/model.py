"""A small convolutional network for small images.

Group normalisation, since batch normalisation's statistics would depend on how many ranks share
a batch.
"""

from __future__ import annotations

import math

import torch
from torch import nn


def build_model(channels: int, classes: int, width: int, dropout: float) -> nn.Module:
    def block(inputs: int, outputs: int, stride: int) -> list[nn.Module]:
        return [
            nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False),
            nn.GroupNorm(math.gcd(8, outputs), outputs),
            nn.ReLU(),
        ]

    return nn.Sequential(
        *block(channels, width, 1),
        *block(width, 2 * width, 2),
        *block(2 * width, 4 * width, 2),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Dropout(dropout),
        nn.Linear(16 * width, classes),
    )


def rate_at(step: int, *, peak: float, warmup: int, total: int) -> float:
    """Learning rate of a step: a function of the step alone, so nothing of it has to be saved."""
    if step < warmup:
        return peak * (step + 1) / warmup
    share = (step - warmup) / max(1, total - warmup)
    return peak * 0.5 * (1 + math.cos(math.pi * min(1.0, share)))


def count_parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def gradient_warm_up(model: nn.Module, example: torch.Tensor, classes: int) -> None:
    """Two backward passes on zeros, before any state is loaded.

    DistributedDataParallel lays its buckets out anew after its first backward pass. With more than
    two ranks the layout decides the order of summation, so a resumed run would differ in the last
    bit at its first step; after this every step of every run has the final layout.
    """
    for _ in range(2):
        loss = nn.functional.cross_entropy(
            model(torch.zeros_like(example)),
            torch.zeros(example.shape[0], dtype=torch.long, device=example.device) % classes,
        )
        torch.autograd.backward(loss)
    model.zero_grad(set_to_none=True)
