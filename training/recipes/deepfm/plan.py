"""Which records make up each batch: a pure function of seed and step.

A batch is `batch_size` consecutive records of one shard (Tidewheel's packer has shuffled them);
the order of the batches is drawn anew each epoch. The position in the data is the number of batches
done and nothing else, on however many hosts.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Batch:
    shard: Path
    first: int
    """Index of its first record in the shard."""


@dataclass(frozen=True)
class Plan:
    shards: Sequence[tuple[Path, int]]
    """Each file with its number of records."""
    batch_size: int
    epochs: int
    seed: int

    @property
    def per_epoch(self) -> int:
        """Whole batches only: every rank has the same number, or a collective would hang."""
        return sum(records // self.batch_size for _, records in self.shards)

    @property
    def total(self) -> int:
        return self.per_epoch * self.epochs

    def order(self, epoch: int) -> list[Batch]:
        batches = [
            Batch(path, number * self.batch_size)
            for path, records in self.shards
            for number in range(records // self.batch_size)
        ]
        random.Random(self.seed * 1_000_003 + epoch).shuffle(batches)
        return batches

    def between(self, start: int, end: int) -> list[Batch]:
        """The batches of the steps from `start` up to `end`."""
        found: list[Batch] = []
        epoch = -1
        order: list[Batch] = []
        for step in range(start, min(end, self.total)):
            if step // self.per_epoch != epoch:
                epoch = step // self.per_epoch
                order = self.order(epoch)
            found.append(order[step % self.per_epoch])
        return found


def shard_files(folder: Path, least: int = 2) -> list[Path]:
    """All shards, in the order of their paths; the last is held out for evaluation."""
    shards = sorted(folder.rglob("*.tfrecord"), key=lambda p: p.relative_to(folder).as_posix())
    if len(shards) < least:
        raise ValueError(
            f"{len(shards)} shards below {folder}: expected {least} *.tfrecord files or more, "
            "one of them to evaluate on"
        )
    return shards
