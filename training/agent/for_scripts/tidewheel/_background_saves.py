"""Writes checkpoints beside training, and tells when the next one is due."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ._checkpoint_folder import Checkpoint, begin, complete, remove_old
from ._latest_writer import LatestWriter

Write = Callable[..., object]

_LEAST_SECONDS = 5.0
"""Between two saves: a kill then costs 2.5 s of training in the mean."""
_SHARE_OF_TIME = 0.01
"""Of the training time at most, for saving."""
_LONGEST_WRITE_SHARE = 0.5
"""Of the time between saves: a write that is slower would delay those that follow."""
_BYTES_PER_SECOND = 20e6
"""To the bucket at most, in the mean: storage there costs money."""


class SaveFailedError(RuntimeError):
    """An earlier save could not be written. The cause says why."""


class BackgroundSaves:
    """The saves of one process into one folder. One thread calls it, usually the main one."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._writer = LatestWriter()
        self._saved_at = time.monotonic()
        self._stall_seconds = 0.0
        self._size_bytes = 0

    def save(self, checkpoint: Checkpoint, write: Write, state: object, keep: int) -> float:
        """Returns the seconds for which training stood still.

        Raises SaveFailedError when the save before could not be written.
        """
        if state is None:
            # The files are written now, so no earlier save may be in this folder, nor prune it.
            self.flush()
        began = time.monotonic()
        self._raise_failure(self._writer.raise_failure)
        if state is None:
            begin(checkpoint.folder)
            write(checkpoint.folder)
        self._writer.start(state, lambda copy: self._write(checkpoint, write, copy, keep))
        self._saved_at = time.monotonic()
        self._stall_seconds = self._saved_at - began
        return self._stall_seconds

    def seconds_until_due(self, at_most: float) -> float:
        """Negative once the next save is due. `at_most`: the requested interval."""
        interval = max(
            _LEAST_SECONDS,
            max(self._stall_seconds, self._writer.gpu_seconds) / _SHARE_OF_TIME,
            self._writer.write_seconds / _LONGEST_WRITE_SHARE,
            self._size_bytes / _BYTES_PER_SECOND,
        )
        return min(at_most, interval) - (time.monotonic() - self._saved_at)

    def flush(self) -> None:
        """Waits until everything is written. Raises SaveFailedError when something was not."""
        self._raise_failure(self._writer.flush)

    def _raise_failure(self, call: Callable[[], None]) -> None:
        try:
            call()
        except BaseException as error:
            raise SaveFailedError(f"the save before could not be written: {error}") from error

    def _write(self, checkpoint: Checkpoint, write: Write, copy: Any, keep: int) -> None:  # noqa: ANN401
        """`copy`: None where the files are there already."""
        try:
            if copy is not None:
                begin(checkpoint.folder)
                write(checkpoint.folder, copy)
            self._size_bytes = complete(checkpoint)
            remove_old(self._root, checkpoint.step, keep)
        except BaseException as error:
            step = checkpoint.step
            print(f"tidewheel: step {step} was not saved: {error!r}", file=sys.stderr)
            raise
