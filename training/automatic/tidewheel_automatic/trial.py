"""A trial of save and restore, before an interruption depends on it.

Every rank of the training saves once for the trial and notes where its next steps led. The agents
then start the script a second time on the same hosts; each of its ranks replays and restores what
the same rank has saved and takes the same steps. The agents compare both and write the verdict.
Until then the training holds its own checkpoints back.

A script that has passed is tried again in a later epoch: what the first one used was there before
the first step, and its evaluation came after the trial.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tidewheel_contract.trial import LATER, VERDICT, after_file, outcome_file, read_exchanged

from . import storage
from .journal import RefusedError
from .options import Options
from .ranks.gang import TrialStore
from .refusal import is_of_host, reason_of
from .sandbox import written_files
from .state.fingerprint import digest_of_replicated, fingerprint
from .state.objects import outer_loops
from .state.replicated import leave_out

STEPS = 2
"""After the trial's checkpoint, so that generators, loaders and optimizers show what they hold."""
_LEAST_STEPS = 2
_MOST_TRIALS = 3
_NONE = 0
"""In place of the step of the trial's checkpoint."""
State = Callable[[], dict[str, Any]]


class FirstProcess:
    """The part of a process that trains."""

    def __init__(self, folder: Path, options: Options, store: TrialStore | None = None) -> None:
        """`store`: of a gang, whose first rank chooses the step and tells the verdict."""
        self._folder = folder
        self._options = options
        self._store = store
        self._began_at = 0.0
        self._saved_at = 0.0
        self._saved_step = 0
        self._is_noted = False
        self._replicated = ""
        self._trials = 1
        self._loops: dict[object, Any] = {}
        """Where each loop around another one was when it was seen first."""
        self._tried: set[object] = set()
        """Those of them that had gone on by the last trial."""
        self.is_over = options.rank == 0 and (folder / VERDICT).exists()
        if self.is_over and store is not None:
            store.choose(_NONE)

    @property
    def is_awaited(self) -> bool:
        """Until then nothing is saved: a checkpoint that no process can restore must not count."""
        longest = self._options.verdict_seconds
        if self.is_over or not longest:
            return False
        if not self._saved_at:
            return self._trials == 1
        return time.monotonic() - self._saved_at < longest

    def look(self, step: int, state: State) -> None:
        """At each step's end. Raises RefusedError when the trial has failed."""
        if self.is_over:
            return
        if not self._saved_at:
            self._save_when_due(step, state)
        elif not self._is_noted:
            if step >= self._saved_step + STEPS:
                after = {"step": step, "state": fingerprint(state()), "written": written_files()}
                self._note({**after, "replicated": self._replicated})
        elif (verdict := self._verdict()) is not None:
            self.is_over = self._store is not None or self._trials == _MOST_TRIALS
            if verdict.get("result") == "refused":
                self.is_over = True
                raise RefusedError(str(verdict.get("reason")))
            if not self.is_over:
                self._expect_later()

    def _expect_later(self) -> None:
        storage.remove_all(self._folder)
        self._trials += 1
        self._began_at = self._saved_at = 0.0
        self._is_noted = False
        self._folder /= LATER
        self._folder.mkdir(exist_ok=True)

    def _save_when_due(self, step: int, state: State) -> None:
        target = self._target(step)
        if target == _NONE:
            self.is_over = True
        elif target is not None and step >= target:
            self._saved_step, self._saved_at = step, time.monotonic()
            if step > target:
                self._note({"problem": "its ranks do not make their steps together"})
                return
            try:
                self._save(step, state())
            except OSError as error:  # Such as no space left, which is none of the script's fault.
                self._note({"problem": f"its checkpoint cannot be written ({error.strerror})"})

    def _target(self, step: int) -> int | None:
        """None while no step is chosen."""
        if self._store is None:
            return step if self._is_time(step) else None
        if self._options.rank > 0:
            return self._store.chosen()
        return self._store.choose_after(step) if self._is_time(step) else None

    def _is_time(self, step: int) -> bool:
        now = time.monotonic()
        has_begun = self._began_at > 0
        self._began_at = self._began_at or now
        is_time = step >= _LEAST_STEPS and now - self._began_at >= self._options.trial_seconds
        if has_begun and not is_time:
            return False
        there = outer_loops()
        gone_on = {at for at, value in there.items() if self._loops.setdefault(at, value) != value}
        if self._trials > 1 and gone_on <= self._tried:
            self._began_at = now  # Looked for again after the same time.
            return False
        self._tried |= gone_on if is_time else set()
        return is_time

    def _save(self, step: int, state: dict[str, Any]) -> None:
        options = self._options
        if options.ranks > 1:
            # As in the training's own checkpoints: the first rank's stands for all of a host.
            self._replicated = digest_of_replicated(state["objects"])
            if options.rank != options.first_here:
                leave_out(state["objects"])
        described = storage.save(self._folder, step, options.rank, state)
        storage.write_json(self._folder / f"rank-{options.rank}.json", described)
        ranks = range(options.first_here, options.first_here + options.ranks_here)
        files = {
            f"rank-{rank}.pt": read_exchanged(self._folder / f"rank-{rank}.json") for rank in ranks
        }
        # The last rank of the host finds all of them.
        if all(files.values()):
            storage.complete(self._folder, step, files)

    def _note(self, after: dict[str, Any]) -> None:
        self._is_noted = True
        storage.write_json(self._folder / after_file(self._options.rank), after)

    def _verdict(self) -> dict[str, Any] | None:
        if self._store is not None and self._options.rank > 0:
            return self._store.verdict()
        verdict = read_exchanged(self._folder / VERDICT)
        if verdict is not None and self._store is not None:
            self._store.tell_verdict(verdict)
        return verdict


class SecondProcess:
    """The part of a process that restores: it never trains further than the comparison."""

    def __init__(self, folder: Path, rank: int) -> None:
        self._folder = folder
        self._rank = rank
        self._ends_at: int | None = None
        self.store: TrialStore | None = None

    def restored(self, step: int) -> None:
        self._ends_at = step + STEPS

    def look(self, step: int, state: State) -> None:
        if self._ends_at is not None and step >= self._ends_at:
            self._write({"state": fingerprint(state())})
            if self.store is not None:
                # A rank that ends at once could break the last exchange of a slower one.
                self.store.end_together(self._rank)
            os._exit(0)

    def failed(self, error: BaseException, *, has_begun: bool) -> None:
        """A script that fails before its first step was not tried."""
        untried = not has_begun or is_of_host(error)
        self._write({"reason": reason_of(error), "untried": untried})
        os._exit(0)

    def _write(self, outcome: dict[str, Any]) -> None:
        storage.write_json(self._folder / outcome_file(self._rank), outcome)
