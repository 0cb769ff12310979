"""Tells the log when this host's script hangs."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..log import log
from ..metrics.counters import ProcessCounters
from ..metrics.hang_watch import HangWatch
from ..supervision.script import Script

_CHECK_SECONDS = 10.0


class HangReports:
    """`gpu_percent`: how busy the host's GPUs are now, or None where it has none."""

    def __init__(self, script: Script, gpu_percent: Callable[[], float | None]) -> None:
        self._counters = ProcessCounters(script.processes)
        self._gpu_percent = gpu_percent
        self._script = script
        self._watch = HangWatch(time.monotonic())
        self._next_check = 0.0

    def check(self) -> None:
        now = time.monotonic()
        if now < self._next_check:
            return
        self._next_check = now + _CHECK_SECONDS
        cpu = self._counters.read().cpu_seconds or 0.0
        warning = self._watch.observe(now, cpu, self._script.lines, self._gpu_percent())
        if warning is not None:
            log(warning)
