"""Hosts that share a machine, each with the same CPU time for every second of a clock of their own.

Every period each host may use a quantum of CPU time; what has used it up is stopped (SIGSTOP) until
the next. A period ends when no host has anything left to do in it, and not before its length has
passed on the wall. So the clock counts what the hosts were given: other work on the machine makes a
period last longer, and changes nothing that is measured by it. On a machine with CPUs to spare it
runs as fast as the wall's.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

_LOOK_SECONDS = 0.002
_AT_WORK = "RD"
"""States of a thread that runs, wants to, or waits for a disk: proc_pid_stat(5)."""


class Host:
    """The processes of one host, and the CPU time of all that it ever had."""

    def __init__(self) -> None:
        self.pids: set[int] = set()
        self.is_stopped = False
        self.left = 0.0
        """CPU seconds that it may still use in this period; what it overdraws is kept as a debt."""
        self._of_living: dict[int, float] = {}
        self._of_ended = 0.0

    def has(self, pids: set[int]) -> None:
        for pid in self.pids - pids:
            self._of_ended += self._of_living.pop(pid, 0.0)
        self.pids = pids

    def cpu_seconds(self) -> float:
        for pid in self.pids:
            # Its process may be gone: what was last read of it counts.
            with contextlib.suppress(OSError):
                self._of_living[pid] = time.clock_gettime(_cpu_clock(pid))
        return self._of_ended + sum(self._of_living.values())

    def signal(self, number: signal.Signals) -> None:
        for pid in self.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        self.is_stopped = number is signal.SIGSTOP

    def is_at_work(self) -> bool:
        return any(_is_at_work(pid) for pid in self.pids)


def _cpu_clock(pid: int) -> int:
    """The clock of a process's CPU time, as the C library makes it (clock_getcpuclockid(3))."""
    return (~pid << 3) | 2


def _is_at_work(pid: int) -> bool:
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                state = (thread / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
                if state in _AT_WORK:
                    return True
    return False


class Members:
    """Which processes are whose: by a line of their environment, which children inherit."""

    def __init__(self, lines: Mapping[str, str]) -> None:
        self._hosts = {line.encode(): name for name, line in lines.items()}
        self._known: dict[int, str | None] = {}

    def look(self) -> dict[str, set[int]]:
        pids = {int(entry) for entry in os.listdir("/proc") if entry.isdigit()} - {os.getpid()}
        self._known = {pid: host for pid, host in self._known.items() if pid in pids}
        for pid in pids - self._known.keys():
            try:
                lines = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            except OSError:  # The kernel's own, or somebody else's.
                lines = [b"?"]
            # Without any, it is being started this moment: it will be looked at again.
            if lines != [b""]:
                named = (self._hosts[line] for line in lines if line in self._hosts)
                self._known[pid] = next(named, None)
        found: dict[str, set[int]] = {name: set() for name in self._hosts.values()}
        for pid, host in self._known.items():
            if host is not None:
                found[host].add(pid)
        return found


class SharedClock:
    """Seconds in a file of eight bytes, for processes that wait by this clock."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(8))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 8)
        self.set(0.0)

    def set(self, seconds: float) -> None:
        struct.pack_into("<d", self._map, 0, seconds)


@contextlib.contextmanager
def _before_all_others() -> Iterator[None]:
    """Where that is allowed: who is looked at late has used more than its quantum, and waits for it
    in the periods after."""
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    first = os.SCHED_RR | os.SCHED_RESET_ON_FORK
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, first, os.sched_param(1))
    try:
        yield
    finally:
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, policy, parameters)


class Lockstep:
    """`cores`: CPU seconds of each host for a second of the clock. Together they must leave the
    machine room: where they do not, a period lasts longer, and is as fair."""

    def __init__(
        self, lines: Mapping[str, str], clock: Path, *, cores: float, period_seconds: float = 0.05
    ) -> None:
        self.hosts = {name: Host() for name in lines}
        self.now = 0.0
        self._members = Members(lines)
        self._clock = SharedClock(clock)
        self._quantum = cores * period_seconds
        self._period = period_seconds

    def cpu_seconds(self) -> dict[str, float]:
        return {name: host.cpu_seconds() for name, host in self.hosts.items()}

    def run_free(self, until: Callable[[], bool]) -> None:
        """Without limits, by the wall's clock: for what is not to be measured."""
        began, before = time.monotonic(), self.now
        while not until():
            time.sleep(_LOOK_SECONDS)
            self._tell(before + time.monotonic() - began)
        self._look()

    def run_fair(self, until: Callable[[], bool]) -> None:
        """Asks at the end of each period; then everything runs again."""
        for host in self.hosts.values():
            host.left = 0.0
        try:
            with _before_all_others():
                while not until():
                    self._run_period()
        finally:
            self.release()

    def release(self) -> None:
        self._look()
        for host in self.hosts.values():
            host.signal(signal.SIGCONT)

    def _run_period(self) -> None:
        self._look()
        used = self.cpu_seconds()
        for name, host in self.hosts.items():
            # Debts are paid; what was not used is gone, as an idle CPU's time is.
            host.left = min(self._quantum, host.left + self._quantum)
            self._keep_within(host, name, used[name], used)
        began, before = time.monotonic(), self.now
        while True:
            time.sleep(_LOOK_SECONDS)
            seen = dict(used)
            for name, host in self.hosts.items():
                self._keep_within(host, name, host.cpu_seconds(), used)
            passed = time.monotonic() - began
            if passed >= self._period and seen == used and not self._is_anybody_at_work():
                break
            self._tell(before + min(passed, self._period))
        self._tell(before + self._period)

    def _keep_within(self, host: Host, name: str, used: float, before: dict[str, float]) -> None:
        host.left -= used - before[name]
        before[name] = used
        if host.left <= 0 and not host.is_stopped:
            # Once more, for what it has started since the period began.
            host.has(self._members.look()[name])
            host.signal(signal.SIGSTOP)
        elif host.left > 0 and host.is_stopped:
            host.signal(signal.SIGCONT)

    def _is_anybody_at_work(self) -> bool:
        return any(not host.is_stopped and host.is_at_work() for host in self.hosts.values())

    def _look(self) -> None:
        for name, pids in self._members.look().items():
            self.hosts[name].has(pids)

    def _tell(self, now: float) -> None:
        self.now = now
        self._clock.set(now)
