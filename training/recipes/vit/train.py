"""Trains a vision transformer on packed images, with torchrun or on one host's GPUs."""

from torch import nn

from common.images import ImageTask
from common.program import run
from common.vision_transformer import build_model
from common.world import World
from config import Config

_SIZE = ("model", "width", "dropout", "depth", "heads", "patch")


def make_task(config: Config, world: World) -> ImageTask:
    def make(shape: tuple[int, ...], classes: int) -> nn.Module:
        return build_model(shape, classes, config)

    return ImageTask(config, world, make, {name: getattr(config, name) for name in _SIZE})


if __name__ == "__main__":
    run(Config, make_task)
