"""All settings of the recipe."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from common.settings import AttentionSettings, TrainingSettings

PRECISIONS = ("auto", "float32", "bfloat16", "float16")


@dataclass(frozen=True, kw_only=True)
class Config(TrainingSettings, AttentionSettings):
    """`batch_size`: sequences. `learning_rate`: for batches of `reference_batch` sequences.
    `weight_decay`: of matrices only. `holdout_percent`: blocks of sequences all over the text."""

    epochs: int = 2
    batch_size: int = 32
    micro_batch: int = 16
    """Sequences that a rank computes at once; a larger share of the batch is gathered from several
    such passes (gradient accumulation). Fewer ranks take more passes, not more memory."""
    context: int = 64
    """Tokens of a sequence."""
    vocabulary: int = 512
    """Tokens: the 256 bytes and the most frequent pieces of words. 256 means bytes alone."""
    reference_batch: int = 32
    """The batch that `learning_rate` was found for: the rate of another batch is that times the
    square root of how many times larger it is (see docs/training.md)."""
    weight_decay: float = 0.1
    clip: float = 1.0
    """Longest gradient; longer ones are shortened to it. 0 leaves all as they are."""
    width: int = 64
    dropout: float = 0.0
    precision: str = "auto"
    """`auto`: bfloat16 where the GPU has it, float16 with a scaled loss on older ones, float32 on
    CPUs. Or one of these three by name."""
    evaluate_steps: int = 40
    """Steps between two looks at the held-out part; a last one comes at the end."""
    evaluate_batches: int = 8
    """Batches of the held-out part that such a look takes; the last one takes all."""
    holdout_percent: int = 5

    LIMITS: ClassVar[Mapping[str, tuple[float, float]]] = {
        **TrainingSettings.LIMITS,
        **AttentionSettings.LIMITS,
        "micro_batch": (1, 1_000_000),
        "context": (2, 1_000_000),
        "vocabulary": (256, 65_536),
        "reference_batch": (1, 1_000_000),
        "clip": (0, 1e9),
        "evaluate_steps": (1, 10_000_000),
        "evaluate_batches": (1, 1_000_000),
    }

    def problems(self) -> list[str]:
        found = super().problems()
        if self.heads > 0 and self.width % self.heads:
            found.append(f"heads={self.heads}: give a number that divides width={self.width}")
        if self.precision not in PRECISIONS:
            found.append(f"precision={self.precision!r}: choose one of {', '.join(PRECISIONS)}")
        return found

    @property
    def peak_rate(self) -> float:
        """The rate that belongs to this batch."""
        return self.learning_rate * math.sqrt(self.batch_size / self.reference_batch)
