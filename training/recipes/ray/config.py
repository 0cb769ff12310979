"""All settings of the recipe; each is a hyperparameter of the same name."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, fields


@dataclass(frozen=True, kw_only=True)
class Config:
    trainer: str = "torch"
    """`torch`: Ray's TorchTrainer on the hosts of the first group. `none`: this process trains, and
    Ray only prepares its data, on whatever CPUs there are."""
    epochs: int = 4
    """Passes over the training part."""
    batch_size: int = 64
    """Samples per step over all workers."""
    learning_rate: float = 3e-3
    """Peak of AdamW's rate, for this global batch size."""
    warmup_steps: int = 10
    """Steps over which the rate rises."""
    width: int = 16
    """Channels of the first convolution."""
    checkpoint_steps: int = 10
    """Steps between checkpoints; TIDEWHEEL_CHECKPOINT_SECONDS adds one whenever it has passed."""
    keep_checkpoints: int = 2
    """Complete checkpoints kept."""
    holdout_percent: int = 20
    """Share of the samples held out for evaluation."""
    seed: int = 17
    """Start of every random choice."""
    pause: float = 0.0
    """Seconds to wait after each step: makes small data last long enough to be interrupted."""

    @staticmethod
    def from_arguments(arguments: Sequence[str]) -> Config:
        """Unknown names are refused, so that a typing error is not a default."""
        parser = argparse.ArgumentParser(allow_abbrev=False)
        for item in fields(Config):
            parser.add_argument(f"--{item.name}", type=type(item.default), default=item.default)
        config = Config(**vars(parser.parse_args(arguments)))
        if config.trainer not in ("torch", "none"):
            parser.error(f"--trainer {config.trainer}: choose torch or none")
        return config
