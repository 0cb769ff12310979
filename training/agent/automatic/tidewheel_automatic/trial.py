"""A trial of save and restore, before an interruption depends on it.

The training process saves once for the trial and notes where its next steps led. A second process,
which the agent starts, replays and restores that checkpoint and takes the same steps. The agent
compares both and writes the verdict. Until then the training holds its own checkpoints back.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import storage
from .fingerprint import fingerprint
from .journal import RefusedError
from .sandbox import written_files

STEPS = 2
"""After the trial's checkpoint, so that generators, loaders and optimizers show what they hold."""
_LEAST_STEPS = 2
_HELD_SECONDS = 60.0
AFTER = "after.json"
OUTCOME = "outcome.json"
VERDICT = "verdict.json"
STOPPED = "stopped.json"
State = Callable[[], dict[str, Any]]


class Trial:
    """The training process's part."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self._folder = folder
        self._seconds = seconds
        """From the first step to the trial's checkpoint."""
        self._began_at = 0.0
        self._saved_at = 0.0
        self._saved_step = 0
        self._is_noted = False
        self.is_over = (folder / VERDICT).exists()

    @property
    def holds_saves(self) -> bool:
        """A checkpoint that no process can restore must not count."""
        if self.is_over:
            return False
        return not self._saved_step or time.monotonic() - self._saved_at < _HELD_SECONDS

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


def tell_agent(folder: Path, step: int, reason: str) -> None:
    """The script trains on without further checkpoints."""
    with contextlib.suppress(OSError):
        write_json(folder / STOPPED, {"step": step, "reason": reason})


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

    def failed(self, reason: str, *, has_begun: bool, error: BaseException | None = None) -> None:
        """A script that fails before its first step was not tried; memory is no fault of it."""
        is_memory = isinstance(error, MemoryError) or "out of memory" in reason.lower()
        self._end({"reason": reason, "untried": not has_begun or is_memory})

    def _end(self, outcome: dict[str, Any]) -> None:
        write_json(self._folder / OUTCOME, outcome)
        os._exit(0)


def write_json(path: Path, document: dict[str, Any]) -> None:
    storage.write(path, json.dumps(document).encode())


def read_json(path: Path) -> dict[str, Any] | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None
