"""Writes states beside the training: the training's thread only copies them.

Two copies exist at most, and one where memory is short: one is written, and one waits. A newer
state takes the place of the one that waits, so training never stands still for a slow disk, and
after a warning the newest counts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ._state_copy import StateCopy

Write = Callable[[Any], None]

_MOST_COPIES = 2
_SPARE = 1.5
"""Of a further copy's size: what has to be free for it."""


@dataclass(frozen=True)
class _Save:
    copy: StateCopy
    state: Any
    write: Write


class LatestWriter:
    """One thread calls it: the training's. `free`: bytes of memory for a further copy."""

    def __init__(self, free: Callable[[], float] = lambda: float("inf")) -> None:
        self._free = free
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._waiting: _Save | None = None
        self._unused: list[StateCopy] = []
        self._copies = 0
        self._copy_bytes = 0
        self._failure: BaseException | None = None
        self.write_seconds = self.gpu_seconds = 0.0
        """Of the last state: until it was on disk, and for how long its copy kept a GPU busy."""

    @property
    def is_busy(self) -> bool:
        return self._thread is not None

    def start(self, state: object, write: Write) -> None:
        """Copies `state` and has `write` called with the copy by another thread.

        Raises what an earlier `write` raised.
        """
        self.raise_failure()
        copy = self._take_copy()
        try:
            copied = copy.take(state)
        except BaseException:
            with self._changed:
                self._unused.append(copy)
            raise
        self._copy_bytes = copy.nbytes
        with self._changed:
            self._waiting = _Save(copy, copied, write)
            if self._thread is None:
                # Python waits for it at the end of the script, since it is no daemon.
                self._thread = threading.Thread(target=self._run, name="tidewheel-save")
                self._thread.start()

    def flush(self) -> None:
        """Waits until the last state is written. Raises what `write` raised."""
        with self._changed:
            self._changed.wait_for(lambda: self._thread is None)
        self.raise_failure()

    def raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _take_copy(self) -> StateCopy:
        with self._changed:
            if self._waiting is not None:
                copy, self._waiting = self._waiting.copy, None
                return copy
            has_room = self._copies == 0 or self._free() >= _SPARE * self._copy_bytes
            if not self._unused and self._copies < _MOST_COPIES and has_room:
                self._copies += 1
                return StateCopy()
            self._changed.wait_for(lambda: self._unused)
            return self._unused.pop()

    def _run(self) -> None:
        while True:
            with self._changed:
                save, self._waiting = self._waiting, None
                if save is None:
                    self._thread = None
                    self._changed.notify_all()
                    return
            began = time.monotonic()
            try:
                self.gpu_seconds = save.copy.settle()
                save.write(save.state)
            except BaseException as error:  # The training's thread raises it at its next call.
                self._failure = error
            self.write_seconds = time.monotonic() - began
            with self._changed:
                self._unused.append(save.copy)
                self._changed.notify_all()
