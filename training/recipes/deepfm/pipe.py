"""Reads records from SageMaker's Pipes: FIFOs `<channel>_0`, `<channel>_1` …, one for each epoch.

A FIFO has one reader, so each local rank of a host has a channel with its part of the shards:
`train`, `train-1` …. Where every host gets all shards (FullyReplicated), a rank takes every n-th
record of its channel on n hosts. Records are read ahead, and shuffled: their order is a function of
the stream and the seed, so a resumed training that reads the stream again meets the same records.
"""

import json
import os
import queue
import random
import threading
from collections.abc import Iterator
from io import BufferedIOBase
from itertools import islice
from typing import Generic, TypeVar

from records import Click, decode
from tidewheel.pipes import open_epoch, tfrecords


def is_piped() -> bool:
    """Whether the training channel is a Pipe."""
    channels = json.loads(os.environ.get("SM_INPUT_DATA_CONFIG") or "{}")
    return bool(channels.get("train", {}).get("TrainingInputMode") == "Pipe")


class PipeReader:
    """`shuffle`: records among which the next one is drawn. `ahead`: records that a thread reads
    before they are needed."""

    def __init__(self, local_rank: int, *, shuffle: int = 0, ahead: int = 0, seed: int = 0) -> None:
        self._shuffle, self._count, self._seed = shuffle, ahead, seed
        channels = json.loads(os.environ["SM_INPUT_DATA_CONFIG"])
        self._channel = "train" if local_rank == 0 else f"train-{local_rank}"
        if self._channel not in channels:
            raise ValueError(
                f"there is no channel {self._channel}: declare training.processesPerHost, and each "
                "process of a host gets a Pipe of its own"
            )
        hosts: list[str] = json.loads(os.environ["SM_HOSTS"])
        divided = channels[self._channel].get("S3DistributionType") == "ShardedByS3Key"
        self._every = 1 if divided else len(hosts)
        self._first = 0 if divided else hosts.index(os.environ["SM_CURRENT_HOST"])
        self._epoch = -1
        self._records: Iterator[Click] = iter(())
        self._file: BufferedIOBase | None = None
        self._ahead: Ahead[Click] | None = None

    def next_epoch(self) -> None:
        """Skips the rest of this epoch and opens the next."""
        if self._ahead is not None:
            self._ahead.close()
        if self._file is not None:
            self._file.close()
        self._epoch += 1
        self._file = open_epoch(self._channel, self._epoch)
        records = self._own(map(decode, tfrecords(self._file, check_content=True)))
        seed = self._seed * 1_000_003 + self._epoch
        self._records = shuffled(records, self._shuffle, seed)
        if self._count > 0:
            self._ahead = Ahead(self._records, self._count)
            self._records = iter(self._ahead)

    def take(self, count: int) -> list[Click] | None:
        """The next `count` records; None when this epoch has fewer left."""
        taken = list(islice(self._records, count))
        return taken if len(taken) == count else None

    def _own(self, clicks: Iterator[Click]) -> Iterator[Click]:
        for number, click in enumerate(clicks):
            if number % self._every == self._first:
                yield click


T = TypeVar("T")
_LOOK_SECONDS = 0.2
"""Between two looks of a full reader at whether its records are still wanted."""


def shuffled(items: Iterator[T], size: int, seed: int) -> Iterator[T]:
    """Each item is drawn from the `size` that wait: an item comes at most so many places early.

    Memory holds `size` items. With 0 or 1 the order stays.
    """
    choose = random.Random(seed)
    waiting: list[T] = []
    for item in items:
        if len(waiting) < size:
            waiting.append(item)
        elif size == 0:
            yield item
        else:
            place = choose.randrange(size)
            drawn, waiting[place] = waiting[place], item
            yield drawn
    choose.shuffle(waiting)
    yield from waiting


class Ahead(Generic[T]):
    """An iterator whose items a thread reads, up to `count` before they are needed.

    An error of the source comes where its item would have come.
    """

    def __init__(self, items: Iterator[T], count: int) -> None:
        self._queue: queue.Queue[tuple[T] | BaseException | None] = queue.Queue(count)
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(items,), daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[T]:
        while True:
            found = self._queue.get()
            if isinstance(found, tuple):
                yield found[0]
            elif found is None:
                return
            else:
                raise found

    def close(self) -> None:
        """Returns once the thread reads no more, so that the source can be closed."""
        self._is_closed.set()
        self._thread.join()

    def _read(self, items: Iterator[T]) -> None:
        end: BaseException | None = None
        try:
            for item in items:
                if not self._put((item,)):
                    return
        except Exception as error:
            end = error
        self._put(end)

    def _put(self, found: tuple[T] | BaseException | None) -> bool:
        while not self._is_closed.is_set():
            try:
                self._queue.put(found, timeout=_LOOK_SECONDS)
            except queue.Full:
                continue
            return True
        return False
