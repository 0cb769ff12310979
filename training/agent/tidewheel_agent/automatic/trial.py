"""Restores a first checkpoint of the running script in a second process, and compares the two.

The hooks write what they need into `Trial.folder`; see agent/automatic/tidewheel_automatic/trial.py
for the other side. A script that cannot be restored is found before its first interruption.
Whatever becomes of the second process, the training goes on.
"""

from __future__ import annotations

import json
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..agent_path import AUTOMATIC
from ..configuration.script_environment import INSTRUMENT_FOLDER
from ..files import write_atomically
from ..log import log
from ..supervision.script import Script
from ..supervision.script_end import describe_signal
from ..supervision.watchdog import Watchdog
from .exchange import AFTER, OUTCOME, VERDICT, read_exchanged
from .memory import memory_problem
from .note import add_to_automatic
from .scratch import Scratch

_LEAST_SECONDS = 60.0
_MOST_SECONDS = 900.0
_STARTS = 3.0
"""The second process may take so many times what the script took to the trial's checkpoint."""
_NAMED = 3


@dataclass(frozen=True)
class TrialCommand:
    argv: list[str]
    environment: dict[str, str]
    directory: Path
    scratch: Scratch
    protected: str
    """The job's base folder."""


class Trial:
    """Call `check` often; each call returns at once."""

    def __init__(self, folder: Path, command: TrialCommand, notes: Path, attempt: int) -> None:
        """`notes`: the checkpoint folder, where the verdict goes."""
        self._folder = folder
        self._command = command
        self._notes = notes
        self._attempt = attempt
        self._started_at = time.monotonic()
        self._second: Script | None = None
        self._watchdog: Watchdog | None = None
        self._deadline = self._began_at = 0.0
        self._after: dict[str, Any] = {}
        self._first_outcome: dict[str, Any] | None = None
        self._lines: deque[str] = deque(maxlen=3)
        self.is_over = False

    def check(self, script: Script) -> None:
        if self.is_over:
            return
        try:
            self._go_on(script)
        except OSError as error:  # Such as no memory for a further process.
            self.close()
            self._decide("untried", f"the second process cannot be started ({error.strerror})")

    def _go_on(self, script: Script) -> None:
        if self._second is None:
            after = read_exchanged(self._folder / AFTER)
            if after is not None:
                self._after = after
                self._begin(script)
        elif self._second.poll() is not None or time.monotonic() > self._deadline:
            self._judge(script)

    def close(self) -> None:
        """The script or its checkpoints end: so does the trial, without a verdict."""
        self.is_over = True
        self._end_process()

    def _begin(self, script: Script) -> None:
        problem = memory_problem(script.processes())
        if problem is not None:
            self._decide("untried", problem)
            return
        if not self._began_at:
            self._began_at = time.monotonic()
        limit = _STARTS * (self._began_at - self._started_at)
        self._deadline = time.monotonic() + min(_MOST_SECONDS, max(_LEAST_SECONDS, limit))
        self._start(script)

    def _start(self, script: Script) -> None:
        command, scratch = self._command, self._command.scratch
        protected = [command.protected, *map(str, self._after.get("written", []))]
        environment = {
            **scratch.environment(command.environment),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TIDEWHEEL_AUTOMATIC_DIR": str(self._folder),
            "TIDEWHEEL_AUTOMATIC_SCRATCH": str(scratch.folder),
            "TIDEWHEEL_AUTOMATIC_PROTECTED": ":".join(protected),
        }
        environment.pop("TIDEWHEEL_AUTOMATIC_TRIAL", None)
        # Its steps are none of the training's.
        environment.pop(INSTRUMENT_FOLDER, None)
        assert str(AUTOMATIC) in environment["PYTHONPATH"]
        self._lines.clear()
        (scratch.folder / OUTCOME).unlink(missing_ok=True)
        self._second = Script(
            scratch.arguments(command.argv),
            environment=environment,
            directory=scratch.directory(command.directory),
            on_line=self._lines.append,
            show=lambda line: None,
        )
        script.leave_alone(self._second.pid)
        self._watchdog = Watchdog(self._second.token, self._second.pid)
        script.leave_alone(self._watchdog.pid)

    def _judge(self, script: Script) -> None:
        assert self._second is not None
        code = self._second.poll()
        self._end_process()
        outcome = read_exchanged(self._command.scratch.folder / OUTCOME)
        if outcome is None:
            end = (
                "took too long"
                if code is None
                else f"ended with exit code {code}{describe_signal(code)}"
            )
            last = f" ({self._lines[-1][:200]})" if self._lines else ""
            self._decide("untried", f"the second process {end}{last}")
        elif "reason" in outcome:
            result = "untried" if outcome.get("untried") else "refused"
            self._decide(result, str(outcome["reason"]))
        elif not (differing := _differing(self._after.get("state"), outcome.get("state"))):
            self._decide("passed", "")
        elif self._first_outcome is None:
            # Either the restore or the script itself is inexact: a second restore tells which.
            self._first_outcome = outcome
            self._command.scratch.clear()
            self._begin(script)
        elif _differing(self._first_outcome.get("state"), outcome.get("state")):
            self._decide("passed", "two restores differ, so the script itself is not deterministic")
        else:
            names = ", ".join(differing[:_NAMED]) + (" …" if len(differing) > _NAMED else "")
            self._decide("refused", f"restored, it continues with other values in {names}")

    def _decide(self, result: str, reason: str) -> None:
        self.is_over = True
        seconds = round(time.monotonic() - self._began_at, 1) if self._began_at else 0.0
        step = self._after.get("step", 0)
        said = f": {reason}" if reason else ""
        log(f"trial of automatic checkpoints at step {step}, {seconds:g} s: {result}{said}")
        verdict = {"result": result, "reason": reason}
        fact = {"attempt": self._attempt, "step": step, "seconds": seconds, **verdict}
        add_to_automatic(self._notes, "trial", fact)
        write_atomically(self._folder / VERDICT, json.dumps(verdict))

    def _end_process(self) -> None:
        second, self._second = self._second, None
        if second is None:
            return
        second.kill()
        if self._watchdog is not None:
            self._watchdog.dismiss()
            self._watchdog = None


def _differing(one: object, other: object) -> list[str]:
    """Names that have another digest, or are on one side only."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return ["everything"]
    return sorted(name for name in {*one, *other} if one.get(name) != other.get(name))
