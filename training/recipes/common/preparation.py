"""What a recipe does to each image after decoding, each time that it is read.

By default nothing. With `side` and `blurs` it is work: on CPUs the case for helper hosts, on the
accelerator a matter of milliseconds a batch.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch.nn.functional import conv2d, interpolate, pad

_KERNEL = 11
_SIGMA = 2.0


@dataclass(frozen=True)
class Preparation:
    side: int = 0
    """Height and width of every image; 0 leaves the packed size."""
    blurs: int = 0
    """Gaussian blurs of 11 x 11 pixels, one after the other."""

    def __call__(self, pixels: torch.Tensor) -> torch.Tensor:
        """`pixels`: bytes, of an image (channels, height, width) or of a batch of them.

        Returns numbers from 0 to 1 on the same device.
        """
        image = pixels.float().div_(255)
        rows = image if image.ndim == 4 else image.unsqueeze(0)
        if self.side:
            rows = interpolate(rows, (self.side, self.side), mode="bilinear", antialias=True)
        channels = rows.shape[1]
        weight = self._weight.to(rows.device).expand(channels, 1, _KERNEL, _KERNEL)
        for _ in range(self.blurs):
            edged = pad(rows, [_KERNEL // 2] * 4, mode="reflect")
            rows = conv2d(edged, weight, groups=channels)
        return rows if image.ndim == 4 else rows.squeeze(0)

    @cached_property
    def _weight(self) -> torch.Tensor:
        places = torch.arange(_KERNEL, dtype=torch.float32) - _KERNEL // 2
        line = torch.exp(-(places**2) / (2 * _SIGMA**2))
        line = line / line.sum()
        return torch.outer(line, line)
