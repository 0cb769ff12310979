"""Reports that this host's script hangs: in the log, and to the service by a file in the bucket."""

import re
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tidewheel_contract.documents import HangNote

from ..agent_path import STACK_SIGNAL
from ..evidence.cells import read_counts
from ..failure_file import LogTail
from ..files import write_document
from ..gang.gang import Gang
from ..log import iso, log
from ..metrics.counters import ProcessCounters
from ..supervision.process_tree import send
from ..supervision.script import Script

_CHECK_SECONDS = 10.0
_PATIENCE_SECONDS = 120.0
_IDLE_CPUS = 0.01
"""A process that only waits, such as for a lock or a dead worker, uses less of one CPU."""
_CPU_SECONDS = 1.2
"""Over so long at least. The kernel counts in ticks of 10 ms: one alone is no work."""
_LEAST_MOVES = 3
_STEP_PATIENCE_SECONDS = 300.0
_LONGEST_PAUSES = 5
"""So many times the longest pause so far is no pause between two steps, such as a validation."""
_IF_IT_PRINTS = 3
_STACK_SECONDS = 1.0
_MOST_RANKS = 32
_FRAME = re.compile(r'^\s*File "(?:.*/)?([^"/]+)", line (\d+) in (\S+)')
_MOST_FRAMES = 4


class HangReports:
    """`gpu_percent`: how busy the host's GPUs are now, or None where it has none.

    `positions`: how far the script is; it changes with each step. `cells`: of the hooks.
    `file`: where the service learns of it; None where the job saves no checkpoints.
    `serves`: it may be idle, since it only serves another host's script: nothing is reported.
    `end_seconds`: once no host has done anything for so long after the leader's first step, all end
    their scripts; None: it is only reported.
    """

    def __init__(
        self,
        script: Script,
        *,
        gpu_percent: Callable[[], float | None],
        positions: Callable[[], Hashable],
        cells: Path,
        tail: LogTail,
        file: Path | None,
        gang: Gang,
        serves: bool = False,
        end_seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._counters = ProcessCounters(script.processes, rescan_seconds=0.0)
        self._gpu_percent = gpu_percent
        self._positions = positions
        self._first_positions = positions()
        self._has_stepped = False
        self._cells = cells
        self._tail = tail
        self._script = script
        self._gang = gang
        self._serves = serves
        self._end_seconds = end_seconds
        self._check_seconds = min(_CHECK_SECONDS, (end_seconds or _CHECK_SECONDS * 4) / 4)
        self._watch = HangWatch(clock(), min(end_seconds or _PATIENCE_SECONDS, _PATIENCE_SECONDS))
        self._next_check = 0.0
        self._file = file
        self._reported: Hang | None = None

    def check(self) -> None:
        now = self._clock()
        if now < self._next_check:
            return
        self._next_check = now + self._check_seconds
        cpu = self._counters.read().cpu_seconds or 0.0
        counts, positions = read_counts(self._cells, now), self._positions()
        if any(each.steps for each in counts) or positions != self._first_positions:
            self._has_stepped = True
        # The end of another host is news, too: this one may have waited for it.
        others_idle, ended = self._gang.others_idle, (*self._gang.state.exit_codes,)
        moves = (*((each.pid, each.events) for each in counts), positions, ended)
        warning = self._watch.observe(now, cpu, self._script.lines, self._gpu_percent(), moves)
        self._decide(now, others_idle=others_idle)
        if self._serves:
            return
        if warning is not None:
            log(warning)
        hang = self._watch.hang
        if hang != self._reported:
            self._reported = hang
            ranks = [] if hang is None else self._stacks(now)
            since = None if hang is None else iso(time.time() - (now - hang.since))
            kind = None if hang is None else hang.kind
            self._report(HangNote(hangs_since=since, kind=kind, ranks=ranks))

    def _decide(self, now: float, *, others_idle: bool) -> None:
        """Until its first step a script may wait long, such as for data."""
        hang = self._watch.hang
        idle_seconds = now - hang.since if hang is not None and hang.kind == "idle" else 0.0
        is_idle = self._end_seconds is not None and idle_seconds >= self._end_seconds
        self._gang.set_idle(is_idle)
        if is_idle and others_idle and self._has_stepped and not self._gang.state.has_hung:
            self._gang.send_hung()

    def _stacks(self, now: float) -> list[str]:
        """Logs where each rank stands, and returns it in a line each.

        The hooks have Python write the stacks at a signal, also in the middle of a call that does
        not return. py-spy would need ptrace, which containers lack.
        """
        showing = {each.pid for each in self._script.processes() if each.shows_stack}
        ranks = {each.pid: each.rank for each in read_counts(self._cells, now) if each.is_trainer}
        pids = sorted(showing & {*ranks} or showing, key=lambda pid: ranks.get(pid, pid))
        found = []
        for pid in pids[:_MOST_RANKS]:
            name = f"rank {ranks[pid]}" if ranks.get(pid, -1) >= 0 else f"process {pid}"
            log(f"where {name} stands:")
            before = self._script.lines
            send([pid], STACK_SIGNAL)
            self._await_lines(before)
            lines = self._tail.last_lines(max(1, self._script.lines - before))
            found.append(f"{name}: {_innermost(lines)}"[:300])
        # What it computes and prints now is no sign of life.
        self._watch.overlook(self._counters.read().cpu_seconds or 0.0, self._script.lines)
        return found

    def _await_lines(self, before: int) -> None:
        seconds = min(_STACK_SECONDS, self._check_seconds)
        deadline, seen = time.monotonic() + seconds, before
        while time.monotonic() < deadline:
            time.sleep(0.1)
            if before < self._script.lines == seen:
                return
            seen = self._script.lines

    def _report(self, note: HangNote) -> None:
        if self._file is None:
            return
        try:
            self._file.parent.mkdir(exist_ok=True)
        except OSError as error:
            log(f"cannot report the hang to the service: {error}")
            return
        write_document(self._file, note)


def _innermost(lines: Sequence[str]) -> str:
    """The frames of the thread that got the signal, which is the main one."""
    begin = next((n for n, line in enumerate(lines) if line.startswith("Current thread")), None)
    if begin is None:
        return "it shows no stack"
    frames = []
    for line in lines[begin + 1 :]:
        if (match := _FRAME.match(line)) is None:
            break
        frames.append(f"{match[1]}:{match[2]} {match[3]}")
    return " < ".join(frames[:_MOST_FRAMES]) or "in no Python code"


@dataclass(frozen=True)
class Hang:
    kind: Literal["idle", "noSteps"]
    since: float


class HangWatch:
    """Warns when a script neither computes nor prints, or computes and makes no more steps: it
    bills on, and its checkpoints stop.

    Pure: the caller passes what it has seen, and prints the line that comes back.
    """

    def __init__(self, started_at: float, idle_seconds: float = _PATIENCE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._worked_at = self._moved_at = started_at
        self._moves = 0
        self._longest_pause = 0.0
        self._lines_at_move = 0
        self._warn_at = 0.0
        self.hang: Hang | None = None
        self._cpu_before: tuple[float, float] | None = None
        """When, and the CPU seconds by then."""
        self._lines_before = 0
        self._positions: Hashable = None

    def observe(
        self,
        now: float,
        cpu_seconds: float,
        lines: int,
        gpu_percent: float | None,
        positions: Hashable = None,
    ) -> str | None:
        """`cpu_seconds` of the script's processes and `lines` of its output: totals so far."""
        lines_before, self._lines_before = self._lines_before, lines
        if self._cpu_before is None:
            self._cpu_before = (now, cpu_seconds)
            self._worked_at, self._positions = now, positions
            return None
        if positions != self._positions:
            self._positions = positions
            pause = now - self._moved_at if self._moves else 0.0
            self._longest_pause = max(self._longest_pause, pause)
            self._moves, self._moved_at, self._lines_at_move = self._moves + 1, now, lines
            self._worked_at = now
        computed = self._has_computed(now, cpu_seconds)
        if computed or lines != lines_before or (gpu_percent or 0.0) > 0.0:
            self._worked_at = now
        hang = self._found(now, lines)
        is_new = (hang and hang.since) != (self.hang and self.hang.since)
        self.hang = hang
        if hang is None or (now < self._warn_at and not is_new):
            return None
        self._warn_at = hang.since + 2 * (now - hang.since)
        return self._warning(hang.kind, now - hang.since)

    def overlook(self, cpu_seconds: float, lines: int) -> None:
        """What came up to here, came because the agent asked for it."""
        if self._cpu_before is not None:
            self._cpu_before = (self._cpu_before[0], cpu_seconds)
            self._lines_before = lines

    def _has_computed(self, now: float, cpu_seconds: float) -> bool:
        assert self._cpu_before is not None
        since, before = self._cpu_before
        has_computed = cpu_seconds - before > _IDLE_CPUS * max(now - since, _CPU_SECONDS)
        if has_computed or now - since >= _CPU_SECONDS:
            self._cpu_before = (now, cpu_seconds)
        return has_computed

    def _found(self, now: float, lines: int) -> Hang | None:
        if now - self._worked_at >= self._idle_seconds:
            return Hang("idle", self._worked_at)
        patience = max(_STEP_PATIENCE_SECONDS, _LONGEST_PAUSES * self._longest_pause)
        if lines != self._lines_at_move:
            patience *= _IF_IT_PRINTS
        if self._moves >= _LEAST_MOVES and now - self._moved_at >= patience:
            return Hang("noSteps", self._moved_at)
        return None

    def _warning(self, kind: str, age: float) -> str:
        what = (
            f"the script has neither computed nor printed anything for {age:.0f} s"
            if kind == "idle"
            else f"the script computes and has made no step for {age:.0f} s, where "
            f"{self._longest_pause:.0f} s were the longest pause"
        )
        return (
            f"WARNING: {what}: it may hang. A loader's worker may have died, or a rank waits "
            "for another"
        )
