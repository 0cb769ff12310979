"""The recipe's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from common.settings import Settings, unknown

PRECISIONS = ("auto", "float32", "bfloat16")
CROSS_DEVICE_OPS = ("auto", "nccl", "hierarchical-copy", "reduction-to-one-device", "ring")


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    epochs: int = 3
    """Passes over the training shards."""
    batch_size: int = 64
    """Samples of one batch. Synchronous workers share a batch; asynchronous ones take one each."""
    learning_rate: float = 0.1
    """Adagrad's rate for this batch size; docs/training.md tells about others."""
    vocabulary: int = 3000
    """Rows of the embedding table, over all fields."""
    dimensions: int = 8
    """Length of an embedding."""
    hidden: int = 32
    """Width of the two hidden layers."""
    checkpoint_steps: int = 40
    """Batches between checkpoints; TIDEWHEEL_CHECKPOINT_SECONDS adds checkpoints by time."""
    keep_checkpoints: int = 2
    """Complete checkpoints to keep."""
    precision: str = "auto"
    """Of the matrix products: float32, bfloat16, or `auto`, which is bfloat16 on GPUs that have it.
    Weights, Adagrad's sums and the loss stay in float32."""
    seed: int = 17
    """Seed of every random choice."""
    steps: int = 0
    """Length of the training from a Pipe, which does not tell its length; 0 for files."""
    shuffle_buffer: int = 0
    """Records from a Pipe among which the next one is drawn: for files whose records are sorted.
    Shards are shuffled when they are packed."""
    prefetch_batches: int = 0
    """Batches that a thread reads from a Pipe before they are needed."""
    pause: float = 0.0
    """Seconds to wait after each batch, so that tests can interrupt a short training."""

    LIMITS: ClassVar[Mapping[str, tuple[float, float]]] = {
        "epochs": (1, 100_000),
        "batch_size": (1, 1_000_000),
        "learning_rate": (1e-9, 10),
        "vocabulary": (1, 2**40),
        "dimensions": (1, 65_536),
        "hidden": (1, 65_536),
        "checkpoint_steps": (1, 10_000_000),
        "keep_checkpoints": (1, 1000),
        "seed": (0, 2**31 - 1),
        "steps": (0, 1_000_000_000),
        "shuffle_buffer": (0, 100_000_000),
        "prefetch_batches": (0, 10_000),
        "pause": (0, 3600),
    }

    def problems(self) -> list[str]:
        return [*super().problems(), *unknown("precision", self.precision, PRECISIONS)]


@dataclass(frozen=True, kw_only=True)
class TensorFlowConfig(Config):
    devices: int = 1
    """For MirroredStrategy on a host without GPUs: logical devices of its CPU."""
    cross_device_ops: str = "auto"
    """How mirrored devices sum gradients. On one host nccl, hierarchical-copy or
    reduction-to-one-device; `auto` leaves it to TensorFlow. On several hosts nccl or ring, and
    `auto` is ring. nccl needs GPUs."""

    LIMITS: ClassVar[Mapping[str, tuple[float, float]]] = {**Config.LIMITS, "devices": (1, 1024)}

    def problems(self) -> list[str]:
        problems = unknown("cross_device_ops", self.cross_device_ops, CROSS_DEVICE_OPS)
        return [*super().problems(), *problems]
