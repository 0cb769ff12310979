"""What a reader of a script's output returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Unit: TypeAlias = Literal["step", "epoch"]


@dataclass(frozen=True)
class Point:
    """Values that belong to one position of the training."""

    position: float
    values: dict[str, float]
    """By the name that the script gives them; infinity or NaN where it says so."""
    unit: Unit = "step"
    """What `position` counts; an epoch may be a fraction."""
    at: float | None = None
    """Unix seconds at which the script wrote it; None where its format does not say."""
    shows_again: bool = False
    """From a progress bar, which shows the newest value until another one is measured."""


def number(text: str) -> float | None:
    """The number that a text is, with a thousands separator or a percent sign or without."""
    try:
        return float(text.strip().rstrip("%").replace(",", ""))
    except ValueError:
        return None
