"""How long the thread that pins batches works. Between loader workers and a step it is alone."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from .cells import PIN_CPU

_TICK = os.sysconf("SC_CLK_TCK")
_NAME = "_pin_memory_loop"


class Pinning:
    """PyTorch starts such a thread for each iterator that pins, and ends it with that."""

    def __init__(self) -> None:
        self._known: dict[int, float] = {}

    def look(self, values: Any) -> None:
        if "torch" not in sys.modules:
            return
        now = {
            thread.native_id: _cpu_seconds(thread.native_id)
            for thread in threading.enumerate()
            if _NAME in thread.name and thread.native_id is not None
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
