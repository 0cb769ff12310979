"""Trains a convolutional network on packed images, with torchrun or on one host's GPUs."""

from torch import nn

from common.images import ImageTask
from common.program import run
from common.world import World
from config import Config
from model import build_model


def make_task(config: Config, world: World) -> ImageTask:
    def make(shape: tuple[int, ...], classes: int) -> nn.Module:
        return build_model(shape[0], classes, config.width, config.dropout)

    size = {"width": config.width, "dropout": config.dropout}
    return ImageTask(config, world, make, size)


if __name__ == "__main__":
    run(Config, make_task)
