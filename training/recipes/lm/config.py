"""All settings of the recipe; each is a hyperparameter of the same name."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

PRECISIONS = ("auto", "float32", "bfloat16", "float16")


@dataclass(frozen=True, kw_only=True)
class Config:
    epochs: int = 2
    """Passes over the training part; the length of the training."""
    batch_size: int = 32
    """Sequences per step over all ranks; any world size that divides it computes the same steps."""
    micro_batch: int = 16
    """Sequences that a rank computes at once; a larger share of the batch is gathered from several
    such passes (gradient accumulation). Fewer ranks take more passes, not more memory."""
    context: int = 64
    """Tokens of a sequence."""
    vocabulary: int = 512
    """Tokens: the 256 bytes and the most frequent pieces of words. 256 means bytes alone."""
    learning_rate: float = 3e-3
    """Peak of AdamW's rate for batches of `reference_batch` sequences."""
    reference_batch: int = 32
    """The batch that `learning_rate` was found for: the rate of another batch is that times the
    square root of how many times larger it is (see docs/training.md)."""
    warmup_steps: int = 20
    """Steps over which the rate rises from zero; it falls to zero along a cosine afterwards."""
    weight_decay: float = 0.1
    """AdamW's weight decay, of matrices only."""
    clip: float = 1.0
    """Longest gradient; longer ones are shortened to it. 0 leaves all as they are."""
    width: int = 64
    """Length of a token's vector."""
    depth: int = 2
    """Layers."""
    heads: int = 4
    """Heads of attention."""
    dropout: float = 0.0
    """Share of the features dropped in training."""
    precision: str = "auto"
    """`auto`: bfloat16 where the GPU has it, float16 with a scaled loss on older ones, float32 on
    CPUs. Or one of these three by name."""
    checkpoint_steps: int = 40
    """Steps between checkpoints; TIDEWHEEL_CHECKPOINT_SECONDS adds one whenever it has passed."""
    evaluate_steps: int = 40
    """Steps between two looks at the held-out part; a last one comes at the end."""
    evaluate_batches: int = 8
    """Batches of the held-out part that such a look takes; the last one takes all."""
    keep_checkpoints: int = 2
    """Complete checkpoints kept; two, so that one is whole while the next is being written."""
    holdout_percent: int = 5
    """Share of the text held out for evaluation: blocks of sequences spread over all of it."""
    threads: int = 1
    """CPU threads per rank. Fixed, since sums over another number of threads round otherwise, and
    an interrupted run may go on where a host has more CPUs; 0 takes what the host gives."""
    devices: int = 0
    """Ranks on this host where torchrun has not started them (strategy `single`): 0 means one for
    each GPU, or one where there is none."""
    seed: int = 17
    """Start of every random choice."""

    def __post_init__(self) -> None:
        limits: dict[str, tuple[float, float]] = {
            "epochs": (1, 100_000),
            "batch_size": (1, 1_000_000),
            "micro_batch": (1, 1_000_000),
            "context": (2, 1_000_000),
            "vocabulary": (256, 65_536),
            "learning_rate": (1e-9, 10),
            "reference_batch": (1, 1_000_000),
            "warmup_steps": (0, 10_000_000),
            "weight_decay": (0, 1),
            "clip": (0, 1e9),
            "width": (1, 65_536),
            "depth": (1, 1000),
            "heads": (1, 1024),
            "dropout": (0, 0.95),
            "checkpoint_steps": (1, 10_000_000),
            "evaluate_steps": (1, 10_000_000),
            "evaluate_batches": (1, 1_000_000),
            "keep_checkpoints": (1, 1000),
            "holdout_percent": (1, 90),
            "threads": (0, 1024),
            "devices": (0, 1024),
            "seed": (0, 2**31 - 1),
        }
        problems = [
            f"{name}={getattr(self, name)}: give a value from {least:g} to {most:g}"
            for name, (least, most) in limits.items()
            if not least <= getattr(self, name) <= most
        ]
        if self.width % self.heads:
            problems.append(f"heads={self.heads}: give a number that divides width={self.width}")
        if self.precision not in PRECISIONS:
            problems.append(f"precision={self.precision!r}: choose one of {', '.join(PRECISIONS)}")
        if problems:
            raise ValueError("; ".join(problems))

    @property
    def peak_rate(self) -> float:
        """The rate that belongs to this batch."""
        return self.learning_rate * math.sqrt(self.batch_size / self.reference_batch)

    @staticmethod
    def from_arguments(arguments: Sequence[str]) -> Config:
        """`--epochs 20 …`; unknown names are refused, so that a typing error is not a default."""
        parser = argparse.ArgumentParser(allow_abbrev=False)
        for item in fields(Config):
            parser.add_argument(f"--{item.name}", type=type(item.default), default=item.default)
        return Config(**vars(parser.parse_args(arguments)))
