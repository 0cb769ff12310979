"""A trial of save and restore, before an interruption depends on it.

The training process saves once for the trial and notes where its next steps led. A second process,
which the agent starts, replays and restores that checkpoint and takes the same steps. The agent
compares both and writes the verdict. Until then the training holds its own checkpoints back.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import storage
from .exchange import AFTER, OUTCOME, VERDICT, read_json, write_json
from .fingerprint import fingerprint
from .journal import RefusedError
from .refusal import is_of_host, reason_of
from .sandbox import written_files

STEPS = 2
"""After the trial's checkpoint, so that generators, loaders and optimizers show what they hold."""
_LEAST_STEPS = 2
State = Callable[[], dict[str, Any]]


class FirstProcess:
    """The part of the process that trains."""

    def __init__(self, folder: Path, seconds: float, held_seconds: float) -> None:
        """`seconds`: from the first step to the trial's checkpoint. `held_seconds`: how long the
        training's own checkpoints wait for the verdict after it."""
        self._folder = folder
        self._seconds = seconds
        self._held_seconds = held_seconds
        self._began_at = 0.0
        self._saved_at = 0.0
        self._saved_step = 0
        self._is_noted = False
        self.is_over = (folder / VERDICT).exists()

    @property
    def holds_saves(self) -> bool:
        """A checkpoint that no process can restore must not count."""
        if self.is_over or not self._held_seconds:
            return False
        return not self._saved_step or time.monotonic() - self._saved_at < self._held_seconds

    def look(self, step: int, state: State) -> None:
        """At each step's end. Raises RefusedError when the trial has failed."""
        if self.is_over:
            return
        if not self._saved_step:
            self._began_at = self._began_at or time.monotonic()
            is_time = time.monotonic() - self._began_at >= self._seconds
            if step >= _LEAST_STEPS and is_time:
                described = storage.save(self._folder, step, 0, state())
                storage.complete(self._folder, step, {"rank-0.pt": described})
                self._saved_step, self._saved_at = step, time.monotonic()
        elif not self._is_noted:
            if step >= self._saved_step + STEPS:
                self._is_noted = True
                after = {"step": step, "state": fingerprint(state()), "written": written_files()}
                write_json(self._folder / AFTER, after)
        elif (verdict := read_json(self._folder / VERDICT)) is not None:
            self.is_over = True
            if verdict.get("result") == "refused":
                raise RefusedError(str(verdict.get("reason")))


class SecondProcess:
    """The part of the process that restores: it never trains further than the comparison."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ends_at: int | None = None

    def restored(self, step: int) -> None:
        self._ends_at = step + STEPS

    def look(self, step: int, state: State) -> None:
        if self._ends_at is not None and step >= self._ends_at:
            self._end({"state": fingerprint(state())})

    def failed(self, error: BaseException, *, has_begun: bool) -> None:
        """A script that fails before its first step was not tried."""
        untried = not has_begun or is_of_host(error)
        self._end({"reason": reason_of(error), "untried": untried})

    def _end(self, outcome: dict[str, Any]) -> None:
        write_json(self._folder / OUTCOME, outcome)
        os._exit(0)
