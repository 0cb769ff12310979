"""What a reader of a script's output returns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

Unit: TypeAlias = Literal["step", "epoch"]


@dataclass(frozen=True)
class Point:
    """Values that belong to one position of the training."""

    position: float
    values: dict[str, float]
    """Finite numbers by the name that the script gives them."""
    unit: Unit = "step"
    """What `position` counts; an epoch may be a fraction."""
    at: float | None = None
    """Unix seconds at which the script wrote it; None where its format does not say."""


def number(text: str) -> float | None:
    """The finite number that a text is, with a thousands separator or a percent sign or without."""
    try:
        value = float(text.strip().rstrip("%").replace(",", ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
