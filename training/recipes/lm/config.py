"""The recipe's settings."""

import math
from dataclasses import dataclass

from common.settings import AttentionSettings, TrainingSettings, limited, one_of


@dataclass(frozen=True, kw_only=True)
class Config(TrainingSettings, AttentionSettings):
    """`batch_size` counts sequences. `learning_rate` belongs to batches of `reference_batch`.

    `weight_decay` applies to matrices only. The held-out part is blocks of sequences from all over
    the text.
    """

    epochs: int = 2
    batch_size: int = 32
    micro_batch: int = limited(16, 1, 1_000_000)
    """Sequences that a rank computes at once. It computes a larger share in several passes
    (gradient accumulation), so fewer ranks need more passes and not more memory."""
    context: int = limited(64, 2, 1_000_000)
    """Tokens of a sequence."""
    vocabulary: int = limited(512, 256, 65_536)
    """Number of tokens: the 256 bytes and the most frequent pieces of words."""
    reference_batch: int = limited(32, 1, 1_000_000)
    """The batch size that `learning_rate` belongs to. Another batch size changes the rate by the
    square root of the ratio (see docs/training.md)."""
    weight_decay: float = 0.1
    clip: float = limited(1.0, 0, 1e9)
    """Largest norm of the gradient, to which larger ones are clipped; 0 clips none."""
    width: int = 64
    dropout: float = 0.0
    sharding: str = one_of("none", "full")
    """`none`: every rank holds the whole model (DDP). `full`: every rank holds its part of the
    weights, gradients and optimizer state (FSDP), for models that one accelerator cannot hold."""
    evaluate_steps: int = limited(40, 1, 10_000_000)
    """Steps between two evaluations; the last one comes at the end."""
    evaluate_batches: int = limited(8, 1, 1_000_000)
    """Micro batches of an evaluation; the last evaluation takes the whole held-out part."""
    holdout_percent: int = 5

    def problems(self) -> list[str]:
        problems = super().problems()
        if self.heads > 0 and self.width % self.heads:
            problems.append(f"heads={self.heads}: give a number that divides width={self.width}")
        if self.sharding == "full" and self.precision == "float16":
            problems.append("precision=float16 with sharding=full: choose bfloat16 or float32")
        return problems

    @property
    def peak_rate(self) -> float:
        """The peak rate for this batch size."""
        return self.learning_rate * math.sqrt(self.batch_size / self.reference_batch)
