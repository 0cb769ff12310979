"""Counters of CPU, memory, disk, network and GPUs, from /proc and the NVIDIA driver.

A host with a machine of its own counts the whole machine. Where several hosts share a machine
(TIDEWHEEL_CPUS is set), each counts the processes of its own script, and apart from them the CPU
time of all others.
"""

import contextlib
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..supervision.process_tree import Process
from .nvml import Gpus

_PROC = Path("/proc")
_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_SECTOR_BYTES = 512
_RESCAN_SECONDS = 10.0


@dataclass(frozen=True)
class Reading:
    """Counters at one moment, None where the host has none. Sums of bytes and seconds only grow."""

    at: float
    """Monotonic seconds."""
    wall: float
    """Unix seconds."""
    cpu_seconds: float | None = None
    other_cpu_seconds: float | None = None
    """Of the machine's other programs; None where `cpu_seconds` counts them too."""
    memory_bytes: int | None = None
    read_bytes: float | None = None
    written_bytes: float | None = None
    received_bytes: float | None = None
    sent_bytes: float | None = None
    gpu_percent: float | None = None
    gpu_memory_percent: float | None = None
    gpu_memory_bytes: tuple[int, int] | None = None
    """Used, and there; of all GPUs."""
    gpu_watts: float | None = None
    data_wait: tuple[float, float] | None = None
    """Seconds that the script waited for data, and seconds that it computed."""


class Counters(Protocol):
    def read(self) -> Reading: ...

    def close(self) -> None: ...


class MachineCounters:
    """The whole machine: /proc/stat, meminfo, diskstats and net/dev, and its GPUs."""

    def __init__(self, gpus: Gpus | None) -> None:
        self._gpus = gpus

    def read(self) -> Reading:
        gpus = self._gpus.read() if self._gpus else None
        disk = _disk_bytes()
        network = _network_bytes()
        return Reading(
            at=time.monotonic(),
            wall=time.time(),
            cpu_seconds=_machine_cpu_seconds(),
            memory_bytes=_machine_memory_bytes(),
            read_bytes=disk and disk[0],
            written_bytes=disk and disk[1],
            received_bytes=network and network[0],
            sent_bytes=network and network[1],
            gpu_percent=gpus.busy_percent if gpus else None,
            gpu_memory_percent=gpus.memory_percent if gpus else None,
            gpu_memory_bytes=gpus.memory_bytes if gpus else None,
            gpu_watts=gpus.watts if gpus else None,
        )

    def close(self) -> None:
        if self._gpus:
            self._gpus.close()


class ProcessCounters:
    """The script's processes only.

    Finding them costs milliseconds and happens every `rescan_seconds`; counting known ones costs
    microseconds.
    """

    def __init__(
        self, find: Callable[[], list[Process]], rescan_seconds: float = _RESCAN_SECONDS
    ) -> None:
        self._rescan_seconds = rescan_seconds
        self._find = find
        self._pids: list[int] = []
        self._next_scan = 0.0
        self._last: dict[int, tuple[float, float, float]] = {}

    def read(self) -> Reading:
        now = time.monotonic()
        if now >= self._next_scan:
            self._pids = [process.pid for process in self._find()]
            self._next_scan = now + self._rescan_seconds
        memory = 0
        for pid in self._pids:
            with contextlib.suppress(OSError, ValueError, IndexError):
                cpu, resident = process_cpu_and_memory(pid)
                memory += resident
                self._last[pid] = (cpu, *_process_io(pid))
        # The last counts of ended processes stay in the sums, which therefore never fall.
        known = list(self._last.values())
        own, machine = sum(cpu for cpu, _, _ in known), _machine_cpu_seconds()
        return Reading(
            at=now,
            wall=time.time(),
            cpu_seconds=own,
            other_cpu_seconds=None if machine is None else machine - own,
            memory_bytes=memory,
            read_bytes=sum(read for _, read, _ in known),
            written_bytes=sum(written for _, _, written in known),
        )

    def close(self) -> None:
        """Nothing is held open."""


def _machine_cpu_seconds() -> float | None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        # Fields: user nice system idle iowait irq softirq steal. Idle and iowait are no work.
        fields = (_PROC / "stat").read_text().split("\n", 1)[0].split()[1:]
        busy = [int(fields[index]) for index in (0, 1, 2, 5, 6, 7)]
        return sum(busy) / _TICK
    return None


def _machine_memory_bytes() -> int | None:
    with contextlib.suppress(OSError, ValueError, KeyError):
        known = meminfo()
        return known["MemTotal"] - known["MemAvailable"]
    return None


def meminfo() -> dict[str, int]:
    """Bytes. Raises OSError and ValueError where /proc is not Linux's."""
    lines = (_PROC / "meminfo").read_text().splitlines()
    return {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines}


# Whole disks only: partitions and stacked devices would count the same bytes twice.
_DISK = re.compile(r"(sd[a-z]+|xvd[a-z]+|vd[a-z]+|nvme\d+n\d+)$")


def _disk_bytes() -> tuple[float, float] | None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        read = written = 0
        for line in (_PROC / "diskstats").read_text().splitlines():
            fields = line.split()
            if _DISK.match(fields[2]):
                read += int(fields[5]) * _SECTOR_BYTES
                written += int(fields[9]) * _SECTOR_BYTES
        return float(read), float(written)
    return None


def _network_bytes() -> tuple[float, float] | None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        received = sent = 0
        for line in (_PROC / "net" / "dev").read_text().splitlines()[2:]:
            name, _, rest = line.partition(":")
            if name.strip() != "lo":
                fields = rest.split()
                received += int(fields[0])
                sent += int(fields[8])
        return float(received), float(sent)
    return None


def process_cpu_and_memory(pid: int) -> tuple[float, int]:
    """Seconds, and bytes. Raises OSError once it has ended."""
    # The name in parentheses may itself hold spaces and parentheses.
    fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK, int(fields[21]) * _PAGE


def _process_io(pid: int) -> tuple[float, float]:
    with contextlib.suppress(OSError, ValueError):
        lines = (_PROC / str(pid) / "io").read_text().splitlines()
        values = {line.split(":")[0]: int(line.split(":")[1]) for line in lines}
        return float(values["read_bytes"]), float(values["write_bytes"])
    return 0.0, 0.0
