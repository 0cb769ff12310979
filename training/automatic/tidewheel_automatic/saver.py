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
from pathlib import Path
from typing import Any

from tidewheel._latest_writer import LatestWriter

from . import storage
from .journal import RefusedError
from .options import Options
from .ranks.gang import Gang
from .state.fingerprint import digest_of_replicated
from .state.replicated import leave_out

State = Callable[[], dict[str, Any]]

_LONGEST_WRITE_SHARE = 0.5
"""Of the time between saves: the writer uses a processor that the training may need."""


def free_bytes() -> float:
    """Of the host's memory; 0 where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024 * int(x.split()[1]) for x in lines if x.startswith("MemAvailable:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return 0


def start_copy(
    writer: LatestWriter, state: dict[str, Any], write: Callable[[dict[str, Any]], None]
) -> None:
    """Copies the objects. The rest is made for this state, and the journal's entries stay."""
    rest = {**state, "journal": [*state["journal"]]}
    writer.start(state["objects"], lambda objects: write({**rest, "objects": objects}))


class Saver:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._saved_at = time.monotonic()
        self._stall_seconds: deque[float] = deque(maxlen=3)
        self._requested_ns = 0
        self._writer = LatestWriter(free_bytes)
        self._written: deque[tuple[int, dict[str, Any]]] = deque()
        """The steps of this rank's files that no other rank knows of, and what is in them."""
        self.gang: Gang | None = None

    def restored(self) -> None:
        self._saved_at = time.monotonic()

    def look(self, step: int, state: State, *, awaits_trial: bool) -> None:
        """At each step's end. `awaits_trial`: only a request is followed, and no other save is due.

        Raises RefusedError for a state that cannot be saved, and OSError; also of an earlier step.
        """
        self._writer.raise_failure()
        is_alone = self._options.ranks == 1
        is_due = (
            self._is_due(step, awaits_trial) if is_alone else self._is_chosen(step, awaits_trial)
        )
        if not is_due:
            return
        if self._options.every_steps:
            # None is left out.
            self.flush()
        began = time.monotonic()
        if self.gang is None:
            taken_at = time.time()
            start_copy(self._writer, state(), lambda copied: self._save(step, taken_at, copied))
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

    def _is_due(self, step: int, awaits_trial: bool) -> bool:
        if self._is_requested():
            return True
        if awaits_trial or (self._writer.is_busy and not self._options.every_steps):
            return False
        every = self._options.every_steps
        return step % every == 0 if every else self._is_over()

    def _is_chosen(self, step: int, awaits_trial: bool) -> bool:
        """Whether all ranks save this step."""
        gang, every = self.gang, self._options.every_steps
        if gang is None:
            raise RefusedError("its ranks train without torch.distributed.init_process_group")
        self._tell(gang)
        if gang.rank == 0:
            self._complete(gang, gang.completed())
        if every:
            return step % every == 0
        if gang.rank == 0 and (self._is_requested() or self._is_free_and_over(awaits_trial)):
            if (reason := gang.given_up()) is not None:
                raise RefusedError(reason)
            gang.choose(step)
        return gang.is_chosen(step)

    def _is_free_and_over(self, awaits_trial: bool) -> bool:
        return not awaits_trial and not self._writer.is_busy and self._is_over()

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

    def _save(self, step: int, taken_at: float, state: dict[str, Any]) -> None:
        described = storage.save(self._options.root, step, 0, state)
        storage.complete(self._options.root, step, {"rank-0.pt": described}, taken_at)

    def _start_part(self, gang: Gang, step: int, state: dict[str, Any]) -> None:
        """This rank's file; what all ranks hold alike is in the first rank's."""
        gang.hear()
        taken_at = time.time()
        rank, saves_everything = gang.rank, gang.saves_everything

        def write(copied: dict[str, Any]) -> None:
            objects = copied["objects"]
            replicated = "" if saves_everything else digest_of_replicated(objects)
            if rank > 0 and not saves_everything:
                leave_out(objects)
            described = storage.save(self._options.root, step, rank, copied)
            self._written.append(
                (step, {**described, "replicated": replicated, "takenAt": taken_at})
            )

        start_copy(self._writer, state, write)

    def _tell(self, gang: Gang) -> None:
        """Of this rank's files, once they are written."""
        while self._written:
            step, described = self._written.popleft()
            gang.tell(step, described)
            if gang.rank > 0 and (kept := gang.kept()):
                storage.remove_superseded(self._options.root, gang.rank, step, kept)

    def _complete(self, gang: Gang, written: dict[int, dict[str, dict[str, Any]]]) -> None:
        for step, files in written.items():
            taken_at = min(described.pop("takenAt") for described in files.values())
            if len({described.pop("replicated") for described in files.values()}) > 1:
                gang.save_everything()
            else:
                gang.keep(storage.complete(self._options.root, step, files, taken_at))
