"""Reports that this host's script hangs: in the log, and to the service by a file in the bucket."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tidewheel_contract.documents import HangNote

from ..files import write_document
from ..log import iso, log
from ..metrics.counters import ProcessCounters
from ..supervision.script import Script

_CHECK_SECONDS = 10.0
_PATIENCE_SECONDS = 120.0
_IDLE_CPUS = 0.01
"""A process that only waits, such as for a lock or a dead worker, uses less of one CPU."""


class HangReports:
    """`gpu_percent`: how busy the host's GPUs are now, or None where it has none.

    `file`: where the service learns of it; None where the job saves no checkpoints.
    """

    def __init__(
        self,
        script: Script,
        gpu_percent: Callable[[], float | None],
        file: Path | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._counters = ProcessCounters(script.processes)
        self._gpu_percent = gpu_percent
        self._script = script
        self._watch = HangWatch(clock())
        self._next_check = 0.0
        self._file = file
        self._reported: float | None = None

    def check(self) -> None:
        now = self._clock()
        if now < self._next_check:
            return
        self._next_check = now + _CHECK_SECONDS
        cpu = self._counters.read().cpu_seconds or 0.0
        warning = self._watch.observe(now, cpu, self._script.lines, self._gpu_percent())
        if warning is not None:
            log(warning)
        if self._watch.hangs_since != self._reported:
            self._reported = self._watch.hangs_since
            self._report(None if self._reported is None else time.time() - (now - self._reported))

    def _report(self, since_unix_seconds: float | None) -> None:
        if self._file is None:
            return
        since = None if since_unix_seconds is None else iso(since_unix_seconds)
        try:
            self._file.parent.mkdir(exist_ok=True)
        except OSError as error:
            log(f"cannot report the hang to the service: {error}")
            return
        write_document(self._file, HangNote(hangs_since=since))


class HangWatch:
    """Warns when a script neither computes nor prints: it bills on, and its checkpoints stop.

    Pure: the caller passes what it has seen, and prints the line that comes back.
    """

    def __init__(self, started_at: float) -> None:
        self._since = started_at
        self._warn_after = _PATIENCE_SECONDS
        self.hangs_since: float | None = None
        """When the script last did something, once it has done nothing for long."""
        self._before: tuple[float, float, int] | None = None

    def observe(
        self, now: float, cpu_seconds: float, lines: int, gpu_percent: float | None
    ) -> str | None:
        """`cpu_seconds` of the script's processes and `lines` of its output: totals so far."""
        before = self._before
        self._before = (now, cpu_seconds, lines)
        if before is None:
            self._since = now
            return None
        computed = cpu_seconds - before[1] > _IDLE_CPUS * (now - before[0])
        if computed or lines != before[2] or (gpu_percent or 0.0) > 0.0:
            self._since = now
            self._warn_after = _PATIENCE_SECONDS
            self.hangs_since = None
            return None
        age = now - self._since
        if age < self._warn_after:
            return None
        self._warn_after = 2 * age
        self.hangs_since = self._since
        return (
            f"WARNING: the script has neither computed nor printed anything for {age:.0f} s: it "
            "may hang. A loader's worker may have died, or a rank waits for another"
        )
