"""A small convolutional network for small images.

It uses group normalisation: the statistics of batch normalisation would depend on how many ranks
share a batch.
"""

import math

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
