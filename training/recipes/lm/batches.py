"""Which sequences each rank computes at each step: a pure function of seed, step and world size.

The step number is the whole position in the data. A run that resumes at step n therefore sees the
same sequences as one that was never interrupted.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from common.share import Share


@dataclass(frozen=True)
class Order:
    """The order of the sequences over all epochs."""

    sequences: npt.NDArray[np.int64]
    per_epoch: int
    """Steps of an epoch. Whole batches only: a rank without one would hang the others."""
    seed: int
    share: Share

    def from_step(self, step: int, end: int) -> Iterator[npt.NDArray[np.int64]]:
        """The numbers of this rank's sequences, step by step."""
        epoch, shuffled = -1, self.sequences
        for current in range(step, end):
            if current // self.per_epoch != epoch:
                epoch = current // self.per_epoch
                random = np.random.Generator(np.random.PCG64([self.seed, epoch]))
                shuffled = random.permutation(self.sequences)
            start = current % self.per_epoch * self.share.batch_size
            start += self.share.rank * self.share.own
            yield shuffled[start : start + self.share.own]


def micro_batches(own: int, micro_batch: int) -> list[slice]:
    """Cuts a rank's share of a batch into parts of at most `micro_batch`, as equal as possible."""
    count = -(-own // micro_batch)
    edges = [own * number // count for number in range(count + 1)]
    return [slice(start, end) for start, end in itertools.pairwise(edges)]
