"""The recipe's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from common.settings import ImageSettings, TransformerSettings


@dataclass(frozen=True, kw_only=True)
class Config(ImageSettings, TransformerSettings):
    LIMITS: ClassVar[Mapping[str, tuple[float, float]]] = {
        **ImageSettings.LIMITS,
        **TransformerSettings.LIMITS,
    }
