"""What a reader of a script's output returns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Point:
    """Values that belong to one position of the training."""

    position: float
    values: dict[str, float]
    """Finite numbers by the name that the script gives them."""
    at: float | None = None
    """Unix seconds at which the script wrote it; None where its format does not say."""
