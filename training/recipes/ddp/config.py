"""The recipe's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from common.settings import ImageSettings


@dataclass(frozen=True, kw_only=True)
class Config(ImageSettings):
    width: int = 32
    """Channels of the first convolution; the next two have twice and four times as many."""

    LIMITS: ClassVar[Mapping[str, tuple[float, float]]] = {
        **ImageSettings.LIMITS,
        "width": (1, 4096),
    }
