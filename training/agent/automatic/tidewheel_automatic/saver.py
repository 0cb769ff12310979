"""When a step is saved, and what is written: by one process alone, or by the ranks of a gang.

The training's thread copies the state; another one writes it. Ranks tell each other of their files
from the training's thread, at the end of a later step.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from . import storage
from .gang import Gang
from .journal import RefusedError
from .options import Options
from .replicated import digest_of_replicated, leave_out
from .writer import Writer

State = Callable[[], dict[str, Any]]

_LONGEST_WRITE_SHARE = 0.5
"""Of the time between saves: the writer uses a processor that the training may need."""


class Saver:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._saved_at = time.monotonic()
        self._stall_seconds: deque[float] = deque(maxlen=3)
        self._requested_ns = 0
        self._writer = Writer()
        self._written: tuple[int, dict[str, Any]] | None = None
        """The step of this rank's newest file that no other rank knows of, and what is in it."""
        self.gang: Gang | None = None

    def restored(self) -> None:
        self._saved_at = time.monotonic()

    def look(self, step: int, state: State, *, is_held: bool) -> None:
        """At each step's end. `is_held`: only a request is followed.

        Raises RefusedError for a state that cannot be saved, and OSError; also of an earlier step.
        """
        self._writer.raise_failure()
        is_alone = self._options.ranks == 1
        is_due = self._is_due(step, is_held) if is_alone else self._is_chosen(step, is_held)
        if not is_due:
            return
        began = time.monotonic()
        if self.gang is None:
            self._writer.start(state(), lambda copied: self._save(step, copied))
        else:
            self._start_part(self.gang, step, state())
        self._saved_at = time.monotonic()
        self._stall_seconds.append(self._saved_at - began)

    def flush(self) -> None:
        """Waits until the last save is written. Raises what `look` does."""
        self._writer.flush()

    def give_up(self, reason: str) -> None:
        """This rank saves no more."""
        if self.gang is not None and self.gang.rank > 0:
            with contextlib.suppress(Exception):  # Another rank may have ended the store.
                self.gang.tell_given_up(reason)

    def leave(self) -> None:
        """The process group ends: the last save may still be incomplete."""
        gang, self.gang = self.gang, None
        if gang is None:
            return
        # The store ends with the process that holds it.
        with contextlib.suppress(Exception):
            self.flush()
            self._tell(gang)
            if gang.rank == 0:
                self._complete(gang, gang.wait())

    def _is_due(self, step: int, is_held: bool) -> bool:
        if self._writer.is_busy and not self._options.every_steps:
            return False
        if self._is_requested():
            return True
        if is_held:
            return False
        every = self._options.every_steps
        return step % every == 0 if every else self._is_over()

    def _is_chosen(self, step: int, is_held: bool) -> bool:
        """Whether all ranks save this step."""
        gang, every = self.gang, self._options.every_steps
        if gang is None:
            raise RefusedError("its ranks train without torch.distributed.init_process_group")
        if not self._writer.is_busy:
            self._tell(gang)
        if gang.rank == 0:
            self._complete(gang, gang.completed())
        if every:
            return step % every == 0
        is_free = gang.rank == 0 and not self._writer.is_busy
        if is_free and (self._is_requested() or (not is_held and self._is_over())):
            if (reason := gang.given_up()) is not None:
                raise RefusedError(reason)
            gang.choose(step)
        return gang.is_chosen(step)

    def _is_over(self) -> bool:
        """The training may stand still for 1 % of the time. The first copy is slow: the shortest of
        several tells what a save costs."""
        shortest = min(self._stall_seconds) if len(self._stall_seconds) > 1 else 0.0
        writing = self._writer.write_seconds / _LONGEST_WRITE_SHARE
        stall = max(shortest, self._writer.gpu_seconds)
        interval = max(self._options.seconds, 100 * stall, writing)
        return time.monotonic() - self._saved_at >= interval

    def _is_requested(self) -> bool:
        """The agent wants a checkpoint: it is to stop, or the host may be taken away."""
        newest = 0
        for path in self._options.request_files:
            with contextlib.suppress(OSError):
                newest = max(newest, os.stat(path).st_mtime_ns)
        is_new = newest > self._requested_ns
        self._requested_ns = max(newest, self._requested_ns)
        return is_new

    def _save(self, step: int, state: dict[str, Any]) -> None:
        described = storage.save(self._options.root, step, 0, state)
        storage.complete(self._options.root, step, {"rank-0.pt": described})

    def _start_part(self, gang: Gang, step: int, state: dict[str, Any]) -> None:
        """This rank's file; what all ranks hold alike is in the first rank's."""
        self.flush()
        self._tell(gang)
        gang.hear()
        rank, saves_everything = gang.rank, gang.saves_everything

        def write(copied: dict[str, Any]) -> None:
            objects = copied["objects"]
            replicated = "" if saves_everything else digest_of_replicated(objects)
            if rank > 0 and not saves_everything:
                leave_out(objects)
            described = storage.save(self._options.root, step, rank, copied)
            self._written = step, {**described, "replicated": replicated}

        self._writer.start(state, write)

    def _tell(self, gang: Gang) -> None:
        """Of this rank's file, once it is written."""
        written, self._written = self._written, None
        if written is None:
            return
        step, described = written
        gang.tell(step, described)
        if gang.rank > 0 and (kept := gang.kept()):
            storage.remove_superseded(self._options.root, gang.rank, step, kept)

    def _complete(self, gang: Gang, written: dict[int, dict[str, dict[str, Any]]]) -> None:
        for step, files in written.items():
            if len({described.pop("replicated") for described in files.values()}) > 1:
                gang.save_everything()
            else:
                gang.keep(storage.complete(self._options.root, step, files))
