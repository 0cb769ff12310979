"""Which samples each rank computes at each step: a pure function of seed, step and world.

The position in the data is the step number and nothing else, so a run that resumes at step n sees
exactly what an uninterrupted one sees from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from shards import ImageReader, Sample


@dataclass(frozen=True)
class Share:
    """This rank's part of a pool of ranks that reads the same samples.

    Where every host has all shards the pool is all ranks. Where S3 gave each host its own shards
    (ShardedByS3Key) the pool is the host's ranks.
    """

    rank: int
    ranks: int
    batch_size: int
    """Samples per step of the whole pool; a multiple of `ranks`."""


def steps_per_epoch(samples: int, share: Share) -> int:
    """Whole batches only: every rank has the same number, or a collective would hang."""
    return samples // share.batch_size


def indices_of(step: int, *, samples: int, per_epoch: int, seed: int, share: Share) -> list[int]:
    """Which samples of the pool this rank computes at a step."""
    epoch, position = divmod(step, per_epoch)
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    order = torch.randperm(samples, generator=generator)
    own = share.batch_size // share.ranks
    start = position * share.batch_size + share.rank * own
    return [int(index) for index in order[start : start + own]]


@dataclass(frozen=True)
class Batches:
    """The training data of this rank, from any step on."""

    samples: Sequence[Sample]
    labels: Sequence[str]
    reader: ImageReader
    per_epoch: int
    seed: int
    share: Share

    def from_step(self, step: int, end: int) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
        """Yields (steps done after this batch, images, targets)."""
        for current in range(step, end):
            chosen = indices_of(
                current,
                samples=len(self.samples),
                per_epoch=self.per_epoch,
                seed=self.seed,
                share=self.share,
            )
            images, targets = load([self.samples[i] for i in chosen], self.labels, self.reader)
            yield current + 1, images, targets


def load(
    samples: Sequence[Sample], labels: Sequence[str], reader: ImageReader
) -> tuple[torch.Tensor, torch.Tensor]:
    images = torch.stack([reader.read(sample) for sample in samples])
    return images, torch.tensor([labels.index(sample.label) for sample in samples])
