"""Hosts that share a machine, each with the same CPU time for every second of their own clock.

In every period each host may use a quantum of CPU time; then it is stopped (SIGSTOP) until the next
period. A period ends when its length has passed on the wall clock and no host has work left that it
may do. So the hosts' clock counts the CPU time that they got: other work on the machine lengthens a
period and hardly changes what is measured. With CPUs to spare the clock runs as fast as the wall
clock.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

_LOOK_SECONDS = 0.002
_WORKING_STATES = "RD"
"""States of a thread that runs, is runnable, or waits for a disk: proc_pid_stat(5)."""
_RUNNING_STATES = "R"


class Host:
    """The processes of one host, and the CPU time of all that it has ever had."""

    def __init__(self) -> None:
        self.pids: set[int] = set()
        self.is_stopped = False
        self.left = 0.0
        """CPU seconds that the host may still use in this period; negative for a debt."""
        self._of_living: dict[int, float] = {}
        self._of_ended = 0.0

    def update(self, pids: set[int]) -> None:
        for pid in self.pids - pids:
            self._of_ended += self._of_living.pop(pid, 0.0)
        self.pids = pids

    def cpu_seconds(self) -> float:
        for pid in self.pids:
            # For a process that has ended the last reading counts.
            with contextlib.suppress(OSError):
                self._of_living[pid] = time.clock_gettime(_cpu_clock(pid))
        return self._of_ended + sum(self._of_living.values())

    def signal(self, number: signal.Signals) -> None:
        for pid in self.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        self.is_stopped = number is signal.SIGSTOP

    def is_working(self, states: str) -> bool:
        return any(_is_working(pid, states) for pid in self.pids)


def _cpu_clock(pid: int) -> int:
    """The id of a process's CPU clock, as clock_getcpuclockid(3) computes it."""
    return (~pid << 3) | 2


def _is_working(pid: int, states: str) -> bool:
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                state = (thread / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
                if state in states:
                    return True
    return False


class Members:
    """Maps processes to hosts by a line of their environment, which children inherit."""

    def __init__(self, lines: Mapping[str, str]) -> None:
        self._hosts = {line.encode(): name for name, line in lines.items()}
        self._known: dict[int, str | None] = {}

    def find(self) -> dict[str, set[int]]:
        pids = {int(entry) for entry in os.listdir("/proc") if entry.isdigit()} - {os.getpid()}
        self._known = {pid: host for pid, host in self._known.items() if pid in pids}
        for pid in pids - self._known.keys():
            try:
                lines = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            except OSError:  # A kernel thread, or a process of another user.
                lines = [b"?"]
            # A process without environment is just starting, so look at it again later.
            if lines != [b""]:
                named = (self._hosts[line] for line in lines if line in self._hosts)
                self._known[pid] = next(named, None)
        found: dict[str, set[int]] = {name: set() for name in self._hosts.values()}
        for pid, host in self._known.items():
            if host is not None:
                found[host].add(pid)
        return found


class SharedClock:
    """Seconds in a file of eight bytes, for processes that wait by this clock.

    Each reading is a whole one, because a view of doubles stores all eight bytes at once.
    `struct.pack_into` would first write zeros: a process that reads a zero sleeps as long as the
    clock has run, which once was most of a measurement.
    """

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(8))
        with path.open("r+b") as file:
            self._seconds = memoryview(mmap.mmap(file.fileno(), 8)).cast("d")

    def set(self, seconds: float) -> None:
        self._seconds[0] = seconds


@contextlib.contextmanager
def _high_priority() -> Iterator[None]:
    """Raises this process's priority where that is allowed.

    A host that is stopped late has used more than its quantum and pays for it in later periods.
    """
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    real_time = os.SCHED_RR | os.SCHED_RESET_ON_FORK
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, real_time, os.sched_param(1))
    try:
        yield
    finally:
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, policy, parameters)


class Lockstep:
    """`cores`: CPU seconds of each host per second of the clock.

    Where all hosts together need more than the machine has, periods last longer and stay fair.
    `is_disk_time_counted`: a wait for the disk is time on the clock; else the clock waits, too.
    """

    def __init__(
        self,
        lines: Mapping[str, str],
        clock: Path,
        *,
        cores: float,
        period_seconds: float = 0.05,
        is_disk_time_counted: bool = False,
    ) -> None:
        self._states = _RUNNING_STATES if is_disk_time_counted else _WORKING_STATES
        self.hosts = {name: Host() for name in lines}
        self.now = 0.0
        self._members = Members(lines)
        self._clock = SharedClock(clock)
        self._quantum = cores * period_seconds
        self._period = period_seconds

    def cpu_seconds(self) -> dict[str, float]:
        return {name: host.cpu_seconds() for name, host in self.hosts.items()}

    def run_free(self, until: Callable[[], bool]) -> None:
        """Runs without limits on the wall clock, for what is not measured."""
        began, before = time.monotonic(), self.now
        while not until():
            time.sleep(_LOOK_SECONDS)
            self._set_clock(before + time.monotonic() - began)
        self._update_hosts()

    def run_fair(self, until: Callable[[], bool]) -> None:
        """Runs periods until `until` holds at the end of one, then releases all processes."""
        for host in self.hosts.values():
            host.left = 0.0
        try:
            with _high_priority():
                while not until():
                    self._run_period()
        finally:
            self.release()

    def release(self) -> None:
        self._update_hosts()
        for host in self.hosts.values():
            host.signal(signal.SIGCONT)

    def _run_period(self) -> None:
        self._update_hosts()
        used = self.cpu_seconds()
        for name, host in self.hosts.items():
            # A debt carries over; unused time does not, as on an idle CPU.
            host.left = min(self._quantum, host.left + self._quantum)
            self._keep_within(host, name, used[name], used)
        began, before = time.monotonic(), self.now
        while True:
            time.sleep(_LOOK_SECONDS)
            seen = dict(used)
            for name, host in self.hosts.items():
                self._keep_within(host, name, host.cpu_seconds(), used)
            passed = time.monotonic() - began
            if passed >= self._period and seen == used and not self._is_any_host_working():
                break
            self._set_clock(before + min(passed, self._period))
        self._set_clock(before + self._period)

    def _keep_within(self, host: Host, name: str, used: float, before: dict[str, float]) -> None:
        host.left -= used - before[name]
        before[name] = used
        if host.left <= 0 and not host.is_stopped:
            # Includes the processes that the host has started in this period.
            host.update(self._members.find()[name])
            host.signal(signal.SIGSTOP)
        elif host.left > 0 and host.is_stopped:
            host.signal(signal.SIGCONT)

    def _is_any_host_working(self) -> bool:
        return any(
            not host.is_stopped and host.is_working(self._states) for host in self.hosts.values()
        )

    def _update_hosts(self) -> None:
        for name, pids in self._members.find().items():
            self.hosts[name].update(pids)

    def _set_clock(self, now: float) -> None:
        self.now = now
        self._clock.set(now)
