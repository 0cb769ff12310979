"""Looks, a few times a second, at what the training thread does while no hook counts it."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from random import Random
from time import monotonic, sleep
from typing import Any

from .cells import DOING, HOST_WORK, LOOKS, PIN_CPU
from .meter import Meter
from .places import Places, host_work

_SECONDS = 0.25
_WRITE_SECONDS = 5.0
_ARITHMETIC_SECONDS = 60.0
"""Between two steps whose arithmetic is observed."""
_PIN_SECONDS = 1.0
_MOST_LINES = 200
_TICK = os.sysconf("SC_CLK_TCK")
_PIN_THREAD = "_pin_memory_loop"


class Looker:
    """A thread that looks until the process ends or the hooks are removed."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._lines: Counter[str] = Counter()
        self._places = Places()
        self._written_at = monotonic()
        self._observe_at = self._pin_at = 0.0
        self._pinning = _Pinning()
        # The script's own random numbers stay as they are.
        self._random = Random()

    def start(self) -> None:
        threading.Thread(target=self._run, name="tidewheel-looks", daemon=True).start()

    def _run(self) -> None:
        meter = self._meter
        values = meter.values
        try:
            while meter.is_on and meter.values is values:
                # A training that steps in time with the looks would show one moment alone.
                sleep(_SECONDS * (0.5 + self._random.random()))
                self._look(values)
                if monotonic() >= self._pin_at:
                    self._pin_at = monotonic() + _PIN_SECONDS
                    self._pinning.look(values)
                if meter.observe_arithmetic is not None and monotonic() >= self._observe_at:
                    self._observe_at = monotonic() + _ARITHMETIC_SECONDS
                    meter.observe_arithmetic()
        except Exception as error:
            meter.remove("the looks", error)

    def _look(self, values: Any) -> None:
        values[LOOKS] += 1.0
        if values[DOING] == 0.0:
            frame = sys._current_frames().get(self._meter.thread)
            line = host_work(frame, self._places)
            del frame
            if line is not None:
                values[HOST_WORK] += 1.0
                if line and (line in self._lines or len(self._lines) < _MOST_LINES):
                    self._lines[line] += 1
        if self._lines and monotonic() - self._written_at > _WRITE_SECONDS:
            self._written_at = monotonic()
            self._meter.call_sites.note("lines", self._lines.most_common(1)[0][0])


class _Pinning:
    """How long the thread that pins batches works. Between loader workers and a step it is alone.

    PyTorch starts such a thread for each iterator that pins, and ends it with that.
    """

    def __init__(self) -> None:
        self._known: dict[int, float] = {}

    def look(self, values: Any) -> None:
        if "torch" not in sys.modules:
            return
        now = {
            thread.native_id: _cpu_seconds(thread.native_id)
            for thread in threading.enumerate()
            if _PIN_THREAD in thread.name and thread.native_id is not None
        }
        for thread, seconds in now.items():
            values[PIN_CPU] += max(0.0, seconds - self._known.get(thread, 0.0))
        self._known = now


def _cpu_seconds(thread: int) -> float:
    """0.0 once it has ended. Its POSIX clock would crash the process then."""
    try:
        with open(f"/proc/self/task/{thread}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICK
