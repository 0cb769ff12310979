"""The state of the whole machine from /proc, beside the counters of metrics/."""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from ..metrics.counters import meminfo, process_cpu_and_memory

_PROC = Path("/proc")
_MOST_THREADS = 64


@dataclass(frozen=True)
class Memory:
    total_bytes: int
    used_bytes: int
    page_cache_bytes: int
    major_faults: int
    """Since the machine's start."""


def read_memory() -> Memory:
    """Raises OSError, KeyError or ValueError where /proc is not Linux's."""
    known = meminfo()
    fields = (_PROC / "vmstat").read_text().split()
    faults = int(fields[fields.index("pgmajfault") + 1])
    total, cached = known["MemTotal"], known["Cached"] - known.get("Shmem", 0)
    return Memory(total, total - known["MemAvailable"], max(0, cached), faults)


def run_queue() -> int | None:
    """Threads of the machine that run or could, without the one that asks."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        running = int((_PROC / "loadavg").read_text().split()[3].split("/")[0])
        return max(0, running - 1)
    return None


def waits_for_cores(pid: int) -> dict[int, float]:
    """Seconds in which each thread of a process could run and had no core; none where the kernel
    counts no such time. Of very many threads, the oldest: the training's own are among them."""
    waits = {}
    with contextlib.suppress(OSError):
        tasks = _PROC / str(pid) / "task"
        for thread in sorted(os.listdir(tasks), key=int)[:_MOST_THREADS]:
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = (tasks / thread / "schedstat").read_text().split()
                waits[int(thread)] = int(fields[1]) / 1e9
    return waits


def cpu_seconds(pid: int) -> float | None:
    """Of all threads of a process; None when it has ended."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return process_cpu_and_memory(pid)[0]
    return None
