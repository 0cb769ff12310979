"""Clocks of hosts that share this machine: the time that it would be if each had its own vCPUs.

CPU time moves a clock, and waiting for a CPU of this machine does not. Every thread has a time of
its own: it goes with the CPU time that the thread gets, slower where more threads are runnable than
the host has vCPUs, and with the host's clock while the thread sleeps. The host's clock is the
latest of them. So two threads that work at once move it by the work of one, and two that work in
turn by the work of both. While no thread is runnable, the host sleeps or waits, and its clock goes
as the machine's does; but not past the clock of a host that works, since that may be what it waits
for. A host whose clock is ahead is stopped (SIGSTOP) until the others have come near.

Standard input carries one line of JSON: a list of {"supervisor": pid, "vcpus": n, "file": path}.
Its end means that nothing needs the clocks any more. A file gets a pair of doubles at each look:
seconds of the monotonic clock, and seconds of the host's. Dependency-free; Linux.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import struct
import sys
import time
from dataclasses import dataclass, field

LOOK_SECONDS = 0.005
FIND_SECONDS = 0.05
"""Between two searches for new processes and threads."""
LEAD_SECONDS = 0.008
"""How far a host may be ahead of the slowest one."""
PAIR = struct.Struct("=2d")


@dataclass
class Thread:
    stat: int
    """An open file, as the next one."""
    schedule: int
    now: float
    """Seconds of its own time."""
    ran: float = 0.0
    """CPU seconds."""
    queued: float = 0.0
    """Seconds that it was runnable without a CPU, known when it gets one."""

    def look(self, passed: float) -> Look | None:
        """None where it has ended."""
        try:
            state = os.pread(self.stat, 512, 0).rpartition(b")")[2][1:2]
            fields = os.pread(self.schedule, 64, 0).split()
            ran, queued = int(fields[0]) / 1e9, int(fields[1]) / 1e9
        except (OSError, IndexError, ValueError):
            return None
        used, waited = ran - self.ran, queued - self.queued
        self.ran, self.queued = ran, queued
        # Not in state D: a wait for the disk takes time on a host of its own as well.
        is_runnable = state == b"R"
        awake = 1.0 if is_runnable and used == 0 else min(1.0, (used + waited) / passed)
        return Look(self, used, is_runnable, 1.0 - awake)

    def close(self) -> None:
        os.close(self.stat)
        os.close(self.schedule)


@dataclass
class Look:
    """What became of a thread since the last look."""

    thread: Thread
    used: float
    """CPU seconds."""
    is_runnable: bool
    slept: float
    """Share of the time."""


@dataclass
class Host:
    supervisor: int
    vcpus: float
    file: int
    now: float = 0.0
    """Seconds of its clock."""
    is_stopped: bool = False
    is_idle: bool = True
    runnable: int = 0
    """Threads, at the last look."""
    found_at: float = 0.0
    """The clock when its threads were last searched for."""
    threads: dict[tuple[int, int], Thread] = field(default_factory=dict)
    """By process and thread."""

    def find(self, parents: dict[int, int]) -> None:
        """Takes in its new processes and threads. `parents`: of all processes."""
        pids = descendants(self.supervisor, parents)
        found = {(pid, thread) for pid in pids for thread in threads_of(pid)}
        for gone in self.threads.keys() - found:
            self.threads.pop(gone).close()
        for pid, thread in found - self.threads.keys():
            with contextlib.suppress(OSError):
                self.threads[pid, thread] = open_thread(pid, thread, self.found_at)
        self.found_at = self.now
        if self.is_stopped:
            self.signal(signal.SIGSTOP)

    def look(self, passed: float, latest: float) -> None:
        """Moves the clock. `passed`: wall seconds since the last look. `latest`: no idle host may
        be later."""
        seen = [thread.look(passed) for thread in self.threads.values()]
        looks = [each for each in seen if each is not None]
        runnable = 0 if self.is_stopped else sum(each.is_runnable for each in looks)
        before, self.now = self.now, self.now + self._work(looks, max(runnable, self.runnable))
        self.runnable = runnable
        self.is_idle = not self.is_stopped and runnable == 0
        if self.is_idle:
            self.now = max(self.now, min(self.now + passed, latest))
        for each in looks:
            slept = each.slept * (self.now - before)
            each.thread.now = min(self.now, each.thread.now + slept)
            # A thread of a stopped host has work to do yet, also one that is behind the others.
            if each.used == 0 and not each.is_runnable and not self.is_stopped:
                each.thread.now = self.now

    def _work(self, looks: list[Look], runnable: int) -> float:
        """Seconds by which work moves the clock."""
        slower = max(1.0, runnable / self.vcpus)
        for each in looks:
            each.thread.now += each.used * slower
        ahead = [each.thread.now - self.now for each in looks if each.thread.now > self.now]
        # With one thread at a time, those that worked did it in turn.
        return sum(ahead) if runnable <= 1 else max(ahead, default=0.0)

    def signal(self, number: signal.Signals) -> None:
        for pid in {pid for pid, _ in self.threads}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        self.is_stopped = number is signal.SIGSTOP

    def write(self) -> None:
        os.write(self.file, PAIR.pack(time.monotonic(), self.now))


def open_thread(pid: int, thread: int, now: float) -> Thread:
    """Raises OSError where it has ended."""
    folder = f"/proc/{pid}/task/{thread}"
    stat = os.open(f"{folder}/stat", os.O_RDONLY | os.O_CLOEXEC)
    try:
        schedule = os.open(f"{folder}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        os.close(stat)
        raise
    return Thread(stat, schedule, now)


def threads_of(pid: int) -> list[int]:
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def parents_of_all() -> dict[int, int]:
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                found[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
    return found


def descendants(root: int, parents: dict[int, int]) -> list[int]:
    children: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    found: list[int] = []
    waiting = list(children.get(root, []))
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += children.get(pid, [])
    return found


class Clocks:
    def __init__(self, hosts: list[Host]) -> None:
        self.hosts = hosts
        self._looked = time.monotonic()
        self._next_find = 0.0

    def look(self) -> None:
        began = time.monotonic()
        passed, self._looked = max(1e-6, began - self._looked), began
        if began >= self._next_find:
            self._next_find = began + FIND_SECONDS
            parents = parents_of_all()
            for host in self.hosts:
                host.find(parents)
        for host in self.hosts:
            busy = [each.now for each in self._living() if each is not host and not each.is_idle]
            host.look(passed, min(busy, default=float("inf")))
            host.write()
        slowest = min((host.now for host in self._living()), default=0.0)
        for host in self.hosts:
            is_ahead = host.now > slowest + LEAD_SECONDS
            if is_ahead != host.is_stopped:
                host.signal(signal.SIGSTOP if is_ahead else signal.SIGCONT)

    def _living(self) -> list[Host]:
        """A host that has ended holds no other one back."""
        return [host for host in self.hosts if host.threads]

    def release(self) -> None:
        parents = parents_of_all()
        for host in self.hosts:
            host.find(parents)
            host.signal(signal.SIGCONT)


def open_host(supervisor: int, vcpus: float, file: str) -> Host:
    """Continues a clock that another process has kept."""
    opened = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    pairs = os.fstat(opened).st_size // PAIR.size
    now = PAIR.unpack(os.pread(opened, PAIR.size, (pairs - 1) * PAIR.size))[1] if pairs else 0.0
    return Host(supervisor, vcpus, opened, now)


def raise_priority() -> None:
    """A host that is stopped late is further ahead than it may be."""
    with contextlib.suppress(OSError):
        policy = os.SCHED_RR | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(0, policy, os.sched_param(1))


def run(clocks: Clocks) -> None:
    """Until the end of standard input."""
    try:
        while not select.select([0], [], [], LOOK_SECONDS)[0]:
            clocks.look()
    finally:
        clocks.release()


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    hosts = [open_host(**each) for each in json.loads(sys.stdin.readline())]
    raise_priority()
    run(Clocks(hosts))


if __name__ == "__main__":
    main()
