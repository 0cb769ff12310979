"""For data that come as one stream, such as a Pipe of one large file: read ahead, and shuffled.

Both keep the order a function of the stream and the seed, so a resumed training that reads the
stream again meets the same records.
"""

from __future__ import annotations

import queue
import random
import threading
from collections.abc import Iterator
from typing import Generic, TypeVar

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
