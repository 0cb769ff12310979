"""Writes states beside the training: the training's thread only copies them.

One state is written at a time. A save that becomes due meanwhile is made after it, of a newer step.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any


class Writer:
    """One thread calls it: the training's."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._failure: Exception | None = None
        self._copy: Any = None
        self.write_seconds = self.gpu_seconds = 0.0
        """Of the last state: until it was on disk, and for how long its copy kept a GPU busy."""

    @property
    def is_busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self, state: dict[str, Any], write: Callable[[dict[str, Any]], None]) -> None:
        """Copies `state` and has `write` called with the copy by another thread.

        Raises what an earlier `write` raised.
        """
        self.flush()
        copied = self._copied(state)
        # Python waits for it at the end of the script, since it is no daemon.
        self._thread = threading.Thread(
            target=self._write, args=(copied, write), name="tidewheel-save"
        )
        self._thread.start()

    def flush(self) -> None:
        """Waits until the last state is written. Raises what `write` raised."""
        if self._thread is not None:
            self._thread.join()
        self.raise_failure()

    def raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _copied(self, state: dict[str, Any]) -> dict[str, Any]:
        if self._copy is None:
            # The agent puts this package on the path of every script.
            from tidewheel._state_copy import StateCopy

            self._copy = StateCopy()
        # The rest is made for this state, and entries of the journal do not change.
        return {
            **state,
            "objects": self._copy.take(state["objects"]),
            "journal": [*state["journal"]],
        }

    def _write(self, state: dict[str, Any], write: Callable[[dict[str, Any]], None]) -> None:
        began = time.monotonic()
        try:
            self.gpu_seconds = self._copy.settle()
            write(state)
        except Exception as error:  # The training's thread raises it at its next call.
            self._failure = error
        self.write_seconds = time.monotonic() - began
