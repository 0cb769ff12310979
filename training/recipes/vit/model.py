"""A vision transformer (https://arxiv.org/abs/2010.11929) of the library timm."""

from __future__ import annotations

import math

import timm
import torch
from timm.models.vision_transformer import VisionTransformer
from torch import nn

from config import Config


def build_model(shape: tuple[int, ...], classes: int, config: Config) -> nn.Module:
    """By timm's name if one is given; else as wide and deep as the settings say."""
    channels, height, across = shape
    if config.model:
        named: nn.Module = timm.create_model(
            config.model,
            img_size=(height, across),
            in_chans=channels,
            num_classes=classes,
            drop_rate=config.dropout,
        )
        return named
    if height % config.patch or across % config.patch or config.width % config.heads:
        raise ValueError(
            f"patch={config.patch} must divide the images of {height} x {across} pixels, and "
            f"heads={config.heads} must divide width={config.width}"
        )
    built: nn.Module = VisionTransformer(
        img_size=(height, across),
        patch_size=config.patch,
        in_chans=channels,
        num_classes=classes,
        global_pool="avg",
        embed_dim=config.width,
        depth=config.depth,
        num_heads=config.heads,
        mlp_ratio=2.0,
        class_token=False,
        proj_drop_rate=config.dropout,
    )
    return built


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
