"""All settings of the recipe; each is a hyperparameter of the same name."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, fields


@dataclass(frozen=True, kw_only=True)
class Config:
    epochs: int = 3
    """Passes over the training shards."""
    batch_size: int = 64
    """Samples of one batch. Synchronous workers split it, asynchronous ones take one each."""
    learning_rate: float = 0.1
    """Adagrad's rate for this batch; see docs/training.md on other batch sizes."""
    vocabulary: int = 3000
    """Rows of the embedding table, all fields together."""
    dimensions: int = 8
    """Length of an embedding."""
    hidden: int = 32
    """Width of the two hidden layers."""
    checkpoint_steps: int = 40
    """Batches between checkpoints; TIDEWHEEL_CHECKPOINT_SECONDS adds one whenever it has passed."""
    keep_checkpoints: int = 2
    """Complete checkpoints kept."""
    devices: int = 1
    """Devices of a host without GPUs, for MirroredStrategy: its CPU in so many parts."""
    seed: int = 17
    """Start of every random choice."""
    steps: int = 0
    """Length of the training where the data comes through a Pipe, which does not say how much of it
    there is; 0 where it lies in files, which are counted."""
    pause: float = 0.0
    """Seconds to wait after each batch: makes small data last long enough to be interrupted."""

    def __post_init__(self) -> None:
        problems = [
            f"{item.name}={getattr(self, item.name)}: give a positive number"
            for item in fields(self)
            if getattr(self, item.name) < (0 if item.name in ("seed", "pause", "steps") else 1e-9)
        ]
        if problems:
            raise ValueError("; ".join(problems))

    @staticmethod
    def from_arguments(arguments: Sequence[str]) -> Config:
        """Unknown names are refused, so that a typing error is not a default."""
        parser = argparse.ArgumentParser(allow_abbrev=False)
        for item in fields(Config):
            kind = int if isinstance(item.default, int) else float
            parser.add_argument(f"--{item.name}", type=kind, default=item.default)
        return Config(**vars(parser.parse_args(arguments)))
