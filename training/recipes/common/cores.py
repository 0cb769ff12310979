"""The physical cores of a host, divided among the ranks that it runs."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

_CPUS = Path("/sys/devices/system/cpu")
Core = tuple[int, ...]
"""The vCPUs of one physical core."""


def cores_of(cpus: Iterable[int], root: Path = _CPUS) -> list[Core]:
    """The physical cores that `cpus` belong to, those of one socket behind each other.

    A vCPU that the kernel tells nothing about counts as a core.
    """
    allowed = set(cpus)
    found: set[tuple[int, Core]] = set()
    for cpu in allowed:
        topology = root / f"cpu{cpu}" / "topology"
        siblings = _numbers(_text(topology / "thread_siblings_list")) or {cpu}
        socket = int(_text(topology / "physical_package_id") or 0)
        found.add((socket, tuple(sorted(siblings & allowed))))
    return [core for _, core in sorted(found)]


def share_of_cores(cores: Sequence[Core], rank: int, ranks: int) -> list[int]:
    """The vCPUs of the rank's cores, which follow each other; all where cores are too few."""
    if len(cores) < ranks:
        return sorted(cpu for core in cores for cpu in core)
    first, end = (len(cores) * each // ranks for each in (rank, rank + 1))
    return sorted(cpu for core in cores[first:end] for cpu in core)


def bind_to_cores(local_rank: int, local_size: int) -> None:
    """Before the process starts threads: those inherit it, and others keep what they had.

    Ranks then do not take each other's cores. A rank's loader workers inherit its own. Threads are
    not bound to single ones (OMP_PROC_BIND, KMP_AFFINITY): the workers, which the main thread
    starts, would all inherit its one core.
    """
    if not hasattr(os, "sched_setaffinity"):
        return
    cores = cores_of(os.sched_getaffinity(0))
    own = share_of_cores(cores, local_rank, local_size)
    os.sched_setaffinity(0, own)
    print(f"rank {local_rank} of this host: {len(cores)} cores, bound to vCPUs {own}", flush=True)


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _numbers(text: str) -> set[int]:
    """Numbers in a list of the kernel's, such as `0-3,8,10`."""
    numbers: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers
