"""One host's part of a trial: the ranks of the second process, beside those that train."""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from tidewheel_contract.trial import after_file, outcome_file, read_exchanged

from ..agent_path import AUTOMATIC
from ..configuration.script_environment import INSTRUMENT_FOLDER
from ..failure_file import describe_signal
from ..metrics.counters import meminfo, process_cpu_and_memory
from ..metrics.nvml import open_gpus
from ..supervision.process_tree import Process
from ..supervision.script import Script
from ..supervision.watchdog import Watchdog
from .scratch import Scratch

_NICE = 10
_FIRST_TO_BE_KILLED = "1000"
"""For oom_score_adj: where memory runs out, the system ends this process and not the training."""
_NAMED = 3

Result: TypeAlias = Literal["ready", "same", "differs", "unstable", "refused", "untried"]
"""`differs`: from the training. `unstable`: also from the first second process."""
_SPARE = 1.2


@dataclass(frozen=True)
class TrialCommand:
    make_argv: Callable[[int], list[str]]
    """Of the port at which the ranks of the second process meet."""
    environment: dict[str, str]
    directory: Path
    scratch: Scratch
    protected: str
    """The job's base folder."""
    ranks: range = range(1)
    """Those on this host."""


@dataclass(frozen=True)
class Report:
    """What one host has found."""

    result: Result
    reason: str = ""
    names: tuple[str, ...] = field(default=())
    """What has other values, as a person names it."""


class SecondProcess:
    """Call `look` often; each call returns at once."""

    def __init__(self, folder: Path, command: TrialCommand) -> None:
        """`folder`: where the hooks of the training write what they have to say."""
        self._folder = folder
        self._command = command
        self._script: Script | None = None
        self._watchdog: Watchdog | None = None
        self._ends_at = 0.0
        self._starts = 0
        self._is_reported = False
        self._after: dict[int, dict[str, Any]] = {}
        self._first: dict[int, dict[str, Any]] | None = None
        self._lines: deque[str] = deque(maxlen=3)

    @property
    def step(self) -> int:
        """Where the training is compared; 0 before."""
        return max((int(after.get("step", 0)) for after in self._after.values()), default=0)

    def later(self, folder: Path) -> SecondProcess:
        return SecondProcess(folder, self._command)

    def look(self, training: Script) -> Report | None:
        """The next report: once that the training is ready, and once for each start."""
        if self._is_reported:
            return None
        report = self._ready(training) if self._starts == 0 else self._ended()
        self._is_reported = report is not None
        return report

    def start(self, training: Script, port: int, seconds: float) -> None:
        """Raises OSError, such as for no memory for a further process."""
        command, scratch = self._command, self._command.scratch
        scratch.clear()
        self._starts += 1
        self._is_reported = False
        self._ends_at = time.monotonic() + seconds
        written = [path for after in self._after.values() for path in after.get("written", [])]
        environment = {
            **scratch.environment(command.environment),
            "PYTHONDONTWRITEBYTECODE": "1",
            "MASTER_PORT": str(port),
            "TIDEWHEEL_AUTOMATIC_DIR": str(self._folder),
            "TIDEWHEEL_AUTOMATIC_SCRATCH": str(scratch.folder),
            "TIDEWHEEL_AUTOMATIC_PROTECTED": ":".join([command.protected, *map(str, written)]),
        }
        environment.pop("TIDEWHEEL_AUTOMATIC_TRIAL", None)
        # Its steps are none of the training's.
        environment.pop(INSTRUMENT_FOLDER, None)
        assert str(AUTOMATIC) in environment["PYTHONPATH"]
        self._lines.clear()
        for rank in command.ranks:
            (scratch.folder / outcome_file(rank)).unlink(missing_ok=True)
        self._script = Script(
            scratch.arguments(command.make_argv(port)),
            environment=environment,
            directory=scratch.directory(command.directory),
            on_line=self._lines.append,
            show=lambda line: None,
        )
        training.leave_alone(self._script.pid)
        _give_way(self._script.pid)
        self._watchdog = Watchdog(self._script.token, self._script.pid, self._script.leftovers)

    def close(self) -> None:
        script, self._script = self._script, None
        if script is None:
            return
        script.kill()
        if self._watchdog is not None:
            self._watchdog.dismiss()
            self._watchdog = None

    def _ready(self, training: Script) -> Report | None:
        after = _read_all(self._folder, after_file, self._command.ranks)
        problems = [str(each["problem"]) for each in after.values() if "problem" in each]
        if problems:
            return Report("untried", problems[0])
        if len(after) < len(self._command.ranks):
            return None
        self._after = after
        if len({each.get("replicated") for each in after.values()}) > 1:
            return Report("untried", "its ranks hold other weights than one another")
        problem = _memory_problem(training.processes()) or gpu_memory_problem(_gpu_memories())
        return Report("untried", problem) if problem else Report("ready")

    def _ended(self) -> Report | None:
        if self._script is None:
            return None
        code, is_late = self._script.poll(), time.monotonic() > self._ends_at
        outcomes = _read_all(self._command.scratch.folder, outcome_file, self._command.ranks)
        failed = sorted(
            (each for each in outcomes.values() if "reason" in each),
            # Ranks that lose another one are untried; the other one knows why.
            key=lambda each: bool(each.get("untried")),
        )
        is_whole = len(outcomes) == len(self._command.ranks)
        if not (failed or is_late or code is not None):
            return None
        self.close()
        if failed:
            result: Result = "untried" if failed[0].get("untried") else "refused"
            return Report(result, str(failed[0]["reason"]))
        return self._compare(outcomes) if is_whole else Report("untried", self._end(code))

    def _end(self, code: int | None) -> str:
        if code is None:
            return "the second process took too long"
        last = f" ({self._lines[-1][:200]})" if self._lines else ""
        return f"the second process ended with exit code {code}{describe_signal(code)}{last}"

    def _compare(self, outcomes: dict[int, dict[str, Any]]) -> Report:
        names = tuple(_differing(self._after, outcomes)[: _NAMED + 1])
        if self._first is None:
            # Where it differs, a second restore tells whether the restore or the script is inexact.
            self._first = outcomes
        elif _differing(self._first, outcomes):
            return Report("unstable")
        return Report("differs", names=names) if names else Report("same")


def describe_names(names: tuple[str, ...]) -> str:
    return ", ".join(names[:_NAMED]) + (" …" if len(names) > _NAMED else "")


def _give_way(pid: int) -> None:
    """The training comes first; what this process starts inherits both."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, _NICE)
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/oom_score_adj").write_text(_FIRST_TO_BE_KILLED)


def _read_all(folder: Path, name: Callable[[int], str], ranks: range) -> dict[int, dict[str, Any]]:
    """What is there, by rank."""
    found = {rank: read_exchanged(folder / name(rank)) for rank in ranks}
    return {rank: document for rank, document in found.items() if document is not None}


def _differing(one: dict[int, dict[str, Any]], other: dict[int, dict[str, Any]]) -> list[str]:
    """Names that have another digest, or are on one side only; with their rank, if several."""
    found = []
    for rank in one:
        mine, yours = one[rank].get("state"), other[rank].get("state")
        where = f" (rank {rank})" if len(one) > 1 or rank > 0 else ""
        if not isinstance(mine, dict) or not isinstance(yours, dict):
            return ["everything"]
        names = sorted(name for name in {*mine, *yours} if mine.get(name) != yours.get(name))
        found += [f"{name}{where}" for name in names]
    return found


def _memory_problem(processes: Iterable[Process]) -> str | None:
    """A sentence where a second copy could make the system kill the training."""
    used = 0
    for process in processes:
        with contextlib.suppress(OSError, ValueError, IndexError):
            used += process_cpu_and_memory(process.pid)[1]
    available = 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        available = meminfo().get("MemAvailable", 0)
    if not available or available >= _SPARE * used:
        return None
    return _too_little(used, available, "the host's memory")


def gpu_memory_problem(memories: Iterable[tuple[int, int]]) -> str | None:
    """`memories`: the bytes of each GPU that are used and that are there."""
    for used, total in memories:
        if total - used < _SPARE * used:
            return _too_little(used, total - used, "a GPU's memory")
    return None


def _gpu_memories() -> list[tuple[int, int]]:
    gpus = open_gpus()
    if gpus is None:
        return []
    try:
        return gpus.memories()
    finally:
        gpus.close()


def _too_little(used: int, free: int, whose: str) -> str:
    return (
        f"the script uses {used >> 20} MiB and {free >> 20} MiB of {whose} are free,"
        " too little to restore it a second time beside the training"
    )
