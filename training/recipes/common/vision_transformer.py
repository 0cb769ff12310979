"""A vision transformer (https://arxiv.org/abs/2010.11929) from the library timm."""

import timm
from timm.models.vision_transformer import VisionTransformer
from torch import nn

from common.settings import TransformerSettings


def build_model(shape: tuple[int, ...], classes: int, config: TransformerSettings) -> nn.Module:
    """timm's model of that name, or without a name one of the configured size."""
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
