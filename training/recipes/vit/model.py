"""A vision transformer (https://arxiv.org/abs/2010.11929) in plain PyTorch, of any size.

With timm, replace `VisionTransformer` by `timm.create_model(name, img_size=…, num_classes=…)`:
nothing else here depends on what is inside.
"""

from __future__ import annotations

import math

import torch
from torch import nn


class VisionTransformer(nn.Module):
    def __init__(
        self,
        shape: tuple[int, ...],
        classes: int,
        *,
        width: int,
        depth: int,
        heads: int,
        patch: int,
        dropout: float,
    ) -> None:
        super().__init__()
        channels, height, across = shape
        if height % patch or across % patch or width % heads:
            raise ValueError(
                f"patch={patch} must divide the images of {height} x {across} pixels, and "
                f"heads={heads} must divide width={width}"
            )
        self.patches = nn.Conv2d(channels, width, patch, stride=patch)
        places = height // patch * (across // patch)
        self.places = nn.Parameter(torch.randn(1, places, width) * 0.02)
        layer = nn.TransformerEncoderLayer(
            width, heads, 2 * width, dropout, "gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        tokens = self.patches(images).flatten(2).transpose(1, 2) + self.places
        scores: torch.Tensor = self.head(self.norm(self.layers(tokens).mean(1)))
        return scores


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
