"""The recipe's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from common.settings import LearningSettings, PreparationSettings, TransformerSettings

STATE_FILE = "state.bin"
"""In the folder of a checkpoint."""


@dataclass(frozen=True, kw_only=True)
class Config(LearningSettings, TransformerSettings, PreparationSettings):
    """`threads`: CPUs that each worker trains on; all other CPUs prepare data."""

    trainer: str = "torch"
    """`torch`: Ray's TorchTrainer on the hosts of the first group. `none`: this process trains, and
    Ray only prepares its data."""
    epochs: int = 8
    warmup_steps: int = 10
    checkpoint_steps: int = 10
    prefetch_batches: int = 1
    """Prepared batches that wait in the worker before they are needed."""
    pause: float = 0.0
    """Seconds to wait after each step, so that tests can interrupt a short training."""

    LIMITS: ClassVar[Mapping[str, tuple[float, float]]] = {
        **LearningSettings.LIMITS,
        **TransformerSettings.LIMITS,
        **PreparationSettings.LIMITS,
        "threads": (1, 1024),
        "prefetch_batches": (0, 10_000),
        "pause": (0, 3600),
    }

    def problems(self) -> list[str]:
        problems = super().problems()
        if self.trainer not in ("torch", "none"):
            problems.append(f"trainer={self.trainer!r}: choose torch or none")
        return problems
