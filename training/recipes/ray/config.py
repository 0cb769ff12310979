"""The recipe's settings."""

from dataclasses import dataclass

from common.settings import (
    LearningSettings,
    PreparationSettings,
    TransformerSettings,
    limited,
    one_of,
)

STATE_FILE = "state.bin"
"""In the folder of a checkpoint."""


@dataclass(frozen=True, kw_only=True)
class Config(LearningSettings, TransformerSettings, PreparationSettings):
    """`threads`: CPUs that each worker trains on; all other CPUs prepare data."""

    trainer: str = one_of("torch", "none")
    """`torch`: Ray's TorchTrainer on the hosts of the first group. `none`: this process trains, and
    Ray only prepares its data."""
    epochs: int = 8
    threads: int = limited(1, 1, 1024)
    warmup_steps: int = 10
    checkpoint_steps: int = 10
    prefetch_batches: int = limited(1, 0, 10_000)
    """Prepared batches that wait in the worker before they are needed."""
    pause: float = limited(0.0, 0, 3600)
    """Seconds to wait after each step, so that tests can interrupt a short training."""
