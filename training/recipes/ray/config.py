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
    model: str = ""
    """A vision transformer by timm's name, vit_small_patch16_224 say; its size is then its own, and
    the images' size is put in. Without a name the four settings below say how large it is."""
    width: int = 32
    """Length of a token."""
    depth: int = 2
    """Layers."""
    heads: int = 4
    """Heads of attention."""
    patch: int = 2
    """Pixels of a patch's side."""
    dropout: float = 0.1
    """Share of the features dropped in training."""
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

    def __post_init__(self) -> None:
        problems = [
            f"{item.name}={getattr(self, item.name)}: give a positive number"
            for item in fields(self)
            if isinstance(item.default, (int, float))
            and getattr(self, item.name) < (0 if item.name in _MAY_BE_ZERO else 1e-9)
        ]
        if self.trainer not in ("torch", "none"):
            problems.append(f"trainer={self.trainer!r}: choose torch or none")
        if problems:
            raise ValueError("; ".join(problems))

    @staticmethod
    def from_arguments(arguments: Sequence[str]) -> Config:
        """Unknown names are refused, so that a typing error is not a default."""
        parser = argparse.ArgumentParser(allow_abbrev=False)
        for item in fields(Config):
            parser.add_argument(f"--{item.name}", type=type(item.default), default=item.default)
        return Config(**vars(parser.parse_args(arguments)))


_MAY_BE_ZERO = ("seed", "pause", "warmup_steps", "weight_decay", "dropout")
