"""Which records form each batch: a pure function of seed and step.

A batch is `batch_size` consecutive records of one shard, which Tidewheel's packer has shuffled.
Each epoch has its own order of batches. The number of batches done is the whole position in the
data, on any number of hosts.
"""

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
    """Files with their numbers of records."""
    batch_size: int
    epochs: int
    seed: int

    @property
    def per_epoch(self) -> int:
        """Whole batches only: with unequal numbers of batches a collective would hang."""
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

    def batches_between(self, start: int, end: int) -> list[Batch]:
        """The batches of the steps from `start` up to, not including, `end`."""
        batches: list[Batch] = []
        epoch = -1
        order: list[Batch] = []
        for step in range(start, min(end, self.total)):
            if step // self.per_epoch != epoch:
                epoch = step // self.per_epoch
                order = self.order(epoch)
            batches.append(order[step % self.per_epoch])
        return batches


def shard_files(folder: Path, least: int = 2) -> list[Path]:
    """All shards in the order of their paths; the last is held out for evaluation."""
    shards = sorted(folder.rglob("*.tfrecord"), key=lambda p: p.relative_to(folder).as_posix())
    if len(shards) < least:
        raise ValueError(
            f"{len(shards)} shards below {folder}: expected {least} *.tfrecord files or more, "
            "one of them to evaluate on"
        )
    return shards
