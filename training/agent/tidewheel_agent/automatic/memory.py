"""Whether the memory of the host, and of its GPUs, holds the script a second time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from ..metrics.nvml import open_gpus
from ..supervision.process_tree import Process

_SPARE = 1.2


def memory_problem(processes: Iterable[Process]) -> str | None:
    """A sentence where a second copy could make the system kill the training."""
    page = os.sysconf("SC_PAGE_SIZE")
    used = 0
    for process in processes:
        with contextlib.suppress(OSError, ValueError, IndexError):
            used += page * int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    available = _available_bytes()
    if available is None or available >= _SPARE * used:
        return None
    return _too_little(used, available, "the host's memory")


def gpu_memory_problem(memories: Iterable[tuple[int, int]]) -> str | None:
    """`memories`: the bytes of each GPU that are used and that are there."""
    for used, total in memories:
        if total - used < _SPARE * used:
            return _too_little(used, total - used, "a GPU's memory")
    return None


def gpu_memories() -> list[tuple[int, int]]:
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


def _available_bytes() -> int | None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    return None
