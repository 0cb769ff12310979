"""Writes states beside the training: the training's thread only copies them.

Two copies exist at most, and one where memory is short: one is written, and one waits. A newer
state takes the place of the one that waits, so that after a warning the newest counts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Write = Callable[[dict[str, Any]], None]

_MOST_COPIES = 2
_SPARE = 1.5
"""Of a further copy's size: what has to be free for it."""


@dataclass(frozen=True)
class _Save:
    copy: Any
    state: dict[str, Any]
    write: Write


def free_bytes() -> int:
    """Of the host's memory; 0 where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024 * int(x.split()[1]) for x in lines if x.startswith("MemAvailable:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return 0


class Writer:
    """One thread calls it: the training's."""

    def __init__(self, free: Callable[[], int] = free_bytes) -> None:
        self._free = free
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._waiting: _Save | None = None
        self._unused: list[Any] = []
        self._copies = 0
        self._copy_bytes = 0
        self._failure: Exception | None = None
        self.write_seconds = self.gpu_seconds = 0.0
        """Of the last state: until it was on disk, and for how long its copy kept a GPU busy."""

    @property
    def is_busy(self) -> bool:
        return self._thread is not None

    def start(self, state: dict[str, Any], write: Write) -> None:
        """Copies `state` and has `write` called with the copy by another thread.

        Raises what an earlier `write` raised.
        """
        self.raise_failure()
        copy = self._take_copy()
        try:
            objects = copy.take(state["objects"])
        except BaseException:
            with self._changed:
                self._unused.append(copy)
            raise
        # The rest is made for this state, and entries of the journal do not change.
        copied = {**state, "objects": objects, "journal": [*state["journal"]]}
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

    def _take_copy(self) -> Any:
        with self._changed:
            if self._waiting is not None:
                copy, self._waiting = self._waiting.copy, None
                return copy
            has_room = self._copies == 0 or self._free() >= _SPARE * self._copy_bytes
            if not self._unused and self._copies < _MOST_COPIES and has_room:
                # The agent puts this package on the path of every script.
                from tidewheel._state_copy import StateCopy

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
            except Exception as error:  # The training's thread raises it at its next call.
                self._failure = error
            self.write_seconds = time.monotonic() - began
            with self._changed:
                self._unused.append(save.copy)
                self._changed.notify_all()
