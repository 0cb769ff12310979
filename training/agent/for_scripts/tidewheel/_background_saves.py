"""Writes checkpoints beside training: the training thread only copies the state.

At most two copies exist: one is being written, one waits. A newer state replaces the one that
waits, so training never stands still for a slow disk, and memory stays bounded.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._checkpoint_folder import Checkpoint, begin, complete, remove_old
from ._state_copy import StateCopy

Write = Callable[..., object]

_LEAST_SECONDS = 5.0
"""Between two saves: a kill then costs 2.5 s of training in the mean."""
_SHARE_OF_TIME = 0.01
"""Of the training time at most, for saving."""
_LONGEST_WRITE_SHARE = 0.5
"""Of the time between saves: a write that is slower would delay those that follow."""
_BYTES_PER_SECOND = 20e6
"""To the bucket at most, in the mean: storage there costs money."""


@dataclass(frozen=True)
class Job:
    """A checkpoint that is to be written. `copy` is None where its files are there already."""

    checkpoint: Checkpoint
    keep: int
    write: Write | None = None
    copy: StateCopy | None = None
    state: Any = None


class SaveFailedError(RuntimeError):
    """An earlier save could not be written. The cause says why."""


class BackgroundSaves:
    """The saves of one process into one folder. One thread calls it, usually the main one."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._changed = threading.Condition()
        self._waiting: Job | None = None
        self._copies = [StateCopy(), StateCopy()]
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._saved_at = time.monotonic()
        self._stall_seconds = self._gpu_seconds = self._write_seconds = 0.0
        self._size_bytes = 0

    def save(self, checkpoint: Checkpoint, write: Write, state: object, keep: int) -> float:
        """Returns the seconds for which training stood still.

        Raises SaveFailedError when the save before could not be written.
        """
        began = time.monotonic()
        self._raise_failure()
        if state is None:
            # The files are written now, so no earlier job may be in this folder, nor prune it.
            self.flush()
            began = time.monotonic()
            begin(checkpoint.folder)
            write(checkpoint.folder)
            job = Job(checkpoint, keep)
        else:
            copy = self._take_copy()
            job = Job(checkpoint, keep, write, copy, copy.take(state))
        self._start(job)
        self._saved_at = time.monotonic()
        self._stall_seconds = self._saved_at - began
        return self._stall_seconds

    def seconds_until_due(self, at_most: float) -> float:
        """Negative once the next save is due. `at_most`: the requested interval."""
        interval = max(
            _LEAST_SECONDS,
            max(self._stall_seconds, self._gpu_seconds) / _SHARE_OF_TIME,
            self._write_seconds / _LONGEST_WRITE_SHARE,
            self._size_bytes / _BYTES_PER_SECOND,
        )
        return min(at_most, interval) - (time.monotonic() - self._saved_at)

    def flush(self) -> None:
        """Waits until everything is written. Raises SaveFailedError when something was not."""
        with self._changed:
            self._changed.wait_for(lambda: self._thread is None)
        self._raise_failure()

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise SaveFailedError(f"the save before could not be written: {failure}") from failure

    def _take_copy(self) -> StateCopy:
        """A copy that is not being written. A job that waits gives its own, and is dropped."""
        with self._changed:
            if self._waiting is not None and self._waiting.copy is not None:
                self._copies.append(self._waiting.copy)
                self._waiting = None
            return self._copies.pop()

    def _start(self, job: Job) -> None:
        with self._changed:
            self._waiting = job
            if self._thread is None:
                # Python waits for it at the end of the script, since it is no daemon.
                self._thread = threading.Thread(target=self._run, name="tidewheel-save")
                self._thread.start()

    def _run(self) -> None:
        while True:
            with self._changed:
                job, self._waiting = self._waiting, None
                if job is None:
                    self._thread = None
                    self._changed.notify_all()
                    return
            began = time.monotonic()
            try:
                self._write(job)
            except BaseException as error:  # The training thread raises it at its next call.
                self._failure = error
                step = job.checkpoint.step
                print(f"tidewheel: step {step} was not saved: {error!r}", file=sys.stderr)
            finally:
                self._write_seconds = time.monotonic() - began
                if job.copy is not None:
                    with self._changed:
                        self._copies.append(job.copy)

    def _write(self, job: Job) -> None:
        if job.copy is not None:
            self._gpu_seconds = job.copy.settle()
        if job.write is not None:
            begin(job.checkpoint.folder)
            job.write(job.checkpoint.folder, job.state)
        self._size_bytes = complete(job.checkpoint)
        remove_old(self._root, job.checkpoint.step, job.keep)
