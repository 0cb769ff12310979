"""Which samples each rank computes at each step: a pure function of seed, step and world.

The position in the data is the step number and nothing else, so a run that resumes at step n sees
exactly what an uninterrupted one sees from there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch.utils.data import DataLoader, Dataset

from common.shards import ImageReader, Sample
from common.share import Share

Rows = tuple[torch.Tensor, torch.Tensor]
"""Images and their classes."""


def steps_per_epoch(samples: int, share: Share) -> int:
    """Whole batches only: every rank has the same number, or a collective would hang."""
    return samples // share.batch_size


@lru_cache(maxsize=2)
def _order(samples: int, seed: int, epoch: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    return torch.randperm(samples, generator=generator)


def indices_of(step: int, *, samples: int, per_epoch: int, seed: int, share: Share) -> list[int]:
    """Which samples of the pool this rank computes at a step."""
    epoch, position = divmod(step, per_epoch)
    start = position * share.batch_size + share.rank * share.own
    return [int(index) for index in _order(samples, seed, epoch)[start : start + share.own]]


@dataclass(frozen=True)
class Batches(Dataset[Rows]):
    """The training data of this rank: the n-th item is the whole batch of step n."""

    samples: Sequence[Sample]
    labels: Sequence[str]
    reader: ImageReader
    per_epoch: int
    seed: int
    share: Share
    workers: int = 0
    """Processes that read ahead; 0: this process reads what it needs when it needs it."""

    def __getitem__(self, step: int) -> Rows:
        chosen = indices_of(
            step,
            samples=len(self.samples),
            per_epoch=self.per_epoch,
            seed=self.seed,
            share=self.share,
        )
        return load([self.samples[i] for i in chosen], self.labels, self.reader)

    def from_step(self, step: int, end: int) -> Iterator[Rows]:
        loader = DataLoader(
            self,
            batch_size=None,
            # In the order of the steps, whoever reads them.
            sampler=range(step, end),
            num_workers=self.workers,
            pin_memory=torch.cuda.is_available(),
            # Its own, or the training's random numbers would depend on when it was made.
            generator=torch.Generator(),
        )
        yield from loader


def spare_cpus(ranks_here: int) -> int:
    """Loader workers for each of this host's ranks: the CPUs that computing leaves."""
    cpus = int(os.environ.get("SM_NUM_CPUS") or os.cpu_count() or 1)
    return max(0, min(16, cpus // ranks_here - 1))


def load(samples: Sequence[Sample], labels: Sequence[str], reader: ImageReader) -> Rows:
    images = torch.stack([reader.read(sample) for sample in samples])
    return images, torch.tensor([labels.index(sample.label) for sample in samples])
