"""All settings of the recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from common.settings import ImageSettings


@dataclass(frozen=True, kw_only=True)
class Config(ImageSettings):
    width: int = 32
    """Channels of the first convolution; twice and four times as many follow."""

    LIMITS: ClassVar[Mapping[str, tuple[float, float]]] = {
        **ImageSettings.LIMITS,
        "width": (1, 4096),
    }
