"""Which samples each rank computes at each step: a pure function of seed, step and world size.

The step number is the whole position in the data. A run that resumes at step n therefore sees the
same samples as one that was never interrupted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from common.shards import ImageReader, Sample
from common.share import Share

Row = tuple[torch.Tensor, int]
"""An image with its class."""
Rows = tuple[torch.Tensor, torch.Tensor]
"""Images with their classes."""


def steps_per_epoch(samples: int, share: Share) -> int:
    """Whole batches only: with unequal numbers of batches a collective would hang."""
    return samples // share.batch_size


@lru_cache(maxsize=2)
def _order(samples: int, seed: int, epoch: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    return torch.randperm(samples, generator=generator)


def sample_indices(
    step: int, *, samples: int, per_epoch: int, seed: int, share: Share
) -> list[int]:
    """The pool's samples that this rank computes at a step."""
    epoch, position = divmod(step, per_epoch)
    start = position * share.batch_size + share.rank * share.own
    return [int(index) for index in _order(samples, seed, epoch)[start : start + share.own]]


@dataclass(frozen=True)
class _Steps(Sampler[list[int]]):
    """The samples of each step from `first` on. With whole batches the loader tells their size."""

    batches: Batches
    first: int
    end: int

    @property
    def batch_size(self) -> int:
        return self.batches.share.own

    def __len__(self) -> int:
        return self.end - self.first

    def __iter__(self) -> Iterator[list[int]]:
        for step in range(self.first, self.end):
            yield self.batches.indices(step)


@dataclass(frozen=True)
class Batches(Dataset[Row]):
    """The training data of this rank: its items are the samples of the pool."""

    samples: Sequence[Sample]
    labels: Sequence[str]
    reader: ImageReader
    per_epoch: int
    seed: int
    share: Share
    workers: int = 0
    """Processes that read ahead; with 0 this process reads each batch when it needs it."""

    def indices(self, step: int) -> list[int]:
        return sample_indices(
            step,
            samples=len(self.samples),
            per_epoch=self.per_epoch,
            seed=self.seed,
            share=self.share,
        )

    def __getitem__(self, index: int) -> Row:
        sample = self.samples[index]
        return self.reader.read(sample), self.labels.index(sample.label)

    def from_step(self, step: int, end: int) -> Iterator[Rows]:
        loader = DataLoader(
            self,
            # Batches come in the order of the steps, whichever process reads them.
            batch_sampler=_Steps(self, step, end),
            num_workers=self.workers,
            pin_memory=torch.cuda.is_available(),
            # The default generator would advance, and with it the training's random numbers.
            generator=torch.Generator(),
        )
        yield from loader


def spare_cpus(ranks_here: int) -> int:
    """Loader workers for each rank of this host: the CPUs that are not needed for computing."""
    cpus = int(os.environ.get("SM_NUM_CPUS") or os.cpu_count() or 1)
    return max(0, min(16, cpus // ranks_here - 1))


def load_rows(samples: Sequence[Sample], labels: Sequence[str], reader: ImageReader) -> Rows:
    images = torch.stack([reader.read(sample) for sample in samples])
    return images, torch.tensor([labels.index(sample.label) for sample in samples])
