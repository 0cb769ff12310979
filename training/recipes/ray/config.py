"""All settings of the recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from common.settings import TransformerSettings


@dataclass(frozen=True, kw_only=True)
class Config(TransformerSettings):
    trainer: str = "torch"
    """`torch`: Ray's TorchTrainer on the hosts of the first group. `none`: this process trains, and
    Ray only prepares its data, on whatever CPUs there are."""
    epochs: int = 8
    """Passes over the training part."""
    batch_size: int = 64
    """Samples per step over all workers; any number of them that divides it computes the same."""
    learning_rate: float = 3e-3
    """Peak of AdamW's rate, for this global batch size, on however many workers."""
    warmup_steps: int = 10
    """Steps over which the rate rises."""
    weight_decay: float = 1e-2
    """AdamW's weight decay."""
    checkpoint_steps: int = 10
    """Steps between checkpoints; TIDEWHEEL_CHECKPOINT_SECONDS adds one whenever it has passed."""
    keep_checkpoints: int = 2
    """Complete checkpoints kept."""
    holdout_percent: int = 20
    """Share of the samples held out for evaluation."""
    threads: int = 1
    """CPUs that each worker keeps to train on; the others prepare. Fixed, since sums over another
    number of threads round otherwise."""
    seed: int = 17
    """Start of every random choice."""
    pause: float = 0.0
    """Seconds to wait after each step: makes small data last long enough to be interrupted."""

    LIMITS: ClassVar[Mapping[str, tuple[float, float]]] = {
        **TransformerSettings.LIMITS,
        "epochs": (1, 100_000),
        "batch_size": (1, 1_000_000),
        "learning_rate": (1e-9, 10),
        "warmup_steps": (0, 10_000_000),
        "weight_decay": (0, 1),
        "checkpoint_steps": (1, 10_000_000),
        "keep_checkpoints": (1, 1000),
        "holdout_percent": (1, 90),
        "threads": (1, 1024),
        "seed": (0, 2**31 - 1),
        "pause": (0, 3600),
    }

    def problems(self) -> list[str]:
        found = super().problems()
        if self.trainer not in ("torch", "none"):
            found.append(f"trainer={self.trainer!r}: choose torch or none")
        return found
