"""Hosts in lockstep: each gets its CPU time on an idle and on a busy machine."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lockstep import Lockstep, SharedClock

pytestmark = pytest.mark.slow
CORES = 0.25
SLACK = 0.15
"""Seconds: three periods, of which the first and the last may be partial."""
READINGS = 300_000
READY = (
    "import os, struct, subprocess, sys, time\nprint('ready', flush=True)\nsys.stdin.readline()\n"
)
"""The process starts, then waits for a line, because starting takes more than CPU time."""
SPIN = "end = time.process_time() + float(sys.argv[1])\nwhile time.process_time() < end: pass\n"
"""Uses a number of CPU seconds."""
SPIN_TWICE = (
    "spin = [sys.executable, '-c', 'import sys, time\\n' + sys.argv[2], sys.argv[1]]\n"
    "for _ in range(2): subprocess.run(spin, check=True)\n"
)
"""Uses them in each of two processes, which run one after the other."""
WAIT = (
    "now = lambda: struct.unpack('<d', open(sys.argv[2], 'rb').read())[0]\n"
    "began = now()\n"
    "while now() < began + float(sys.argv[1]): time.sleep(0.01)\n"
    "print(now() - began, flush=True)\n"
)
READ_OFTEN = (
    "import mmap\n"
    "file = open(sys.argv[1], 'rb')\n"
    "shared = mmap.mmap(file.fileno(), 8, access=mmap.ACCESS_READ)\n"
    "now, backwards = 0.0, 0\n"
    "for _ in range(int(sys.argv[2])):\n"
    "    last, now = now, struct.unpack_from('<d', shared)[0]\n"
    "    backwards += now < last\n"
    "print(backwards, flush=True)\n"
)
"""Counts readings that are before the reading that precedes them."""
LEAVE = "os._exit(0)\n"
"""Skips the interpreter's clean-up, which takes CPU time of its own."""


class Hosts:
    """Processes that name their host in their environment."""

    def __init__(self, folder: Path, *names: str) -> None:
        self.clock = folder / "clock"
        self.lines = {name: f"TEST_HOST={folder}/{name}" for name in names}
        self.lockstep = Lockstep(self.lines, self.clock, cores=CORES)
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, name: str, code: str, *arguments: object) -> subprocess.Popen[bytes]:
        variable, _, value = self.lines[name].partition("=")
        command = [sys.executable, "-c", READY + code + LEAVE, *map(str, arguments)]
        environment = {**os.environ, variable: value}
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe)
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        self.processes.append(process)
        return process

    def go(self) -> None:
        self.lockstep.release()
        self.started_with = self.lockstep.cpu_seconds()
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.write(b"go\n")
            process.stdin.flush()

    def cpu_seconds(self, name: str) -> float:
        """CPU seconds since the processes went to work."""
        return self.lockstep.cpu_seconds()[name] - self.started_with[name]

    def run_to_the_end(self) -> float:
        """Runs until all processes have ended; returns seconds of the hosts' clock."""
        self.go()
        deadline = time.monotonic() + 60
        self.lockstep.run_fair(
            lambda: time.monotonic() > deadline or all(p.poll() is not None for p in self.processes)
        )
        assert [process.returncode for process in self.processes] == [0] * len(self.processes)
        return self.lockstep.now


@contextmanager
def other_work(count: int) -> Iterator[None]:
    busy = [
        subprocess.Popen([sys.executable, "-c", f"import sys, time\n{SPIN}", "60"])
        for _ in range(count)
    ]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


@pytest.mark.parametrize("busy", [0, 4])
def test_other_work_does_not_change_the_time(tmp_path: Path, busy: int) -> None:
    hosts = Hosts(tmp_path, "a")
    with other_work(busy):
        hosts.start("a", SPIN, 0.2)
        seconds = hosts.run_to_the_end()
    assert seconds == pytest.approx(0.2 / CORES, abs=SLACK)
    assert hosts.cpu_seconds("a") == pytest.approx(0.2, rel=0.1)


def test_two_hosts_take_half_the_time(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, "a", "b")
    hosts.start("a", SPIN, 0.1)
    hosts.start("b", SPIN, 0.1)
    assert hosts.run_to_the_end() == pytest.approx(0.1 / CORES, abs=SLACK)


def test_processes_of_a_host_share_its_time(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, "a")
    hosts.start("a", SPIN, 0.1)
    hosts.start("a", SPIN, 0.1)
    assert hosts.run_to_the_end() == pytest.approx(0.2 / CORES, abs=SLACK)


def test_the_time_of_ended_children_counts(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, "a")
    hosts.start("a", SPIN_TWICE, 0.15, SPIN)
    hosts.run_to_the_end()
    # The children's start adds time, and the last look before a child's end may miss some.
    assert 0.28 <= hosts.cpu_seconds("a") <= 0.5


def test_other_work_does_not_lengthen_a_wait(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, "a", "b")
    with other_work(4):
        waiting = hosts.start("a", WAIT, 0.5, hosts.clock)
        hosts.start("b", SPIN, 0.1)
        hosts.run_to_the_end()
    assert waiting.stdout is not None
    # The process looks every ten milliseconds and may see the next period.
    assert 0.5 <= float(waiting.stdout.read()) <= 0.65


def test_no_process_stays_stopped(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, "a")
    process = hosts.start("a", SPIN, 0.2)
    hosts.go()
    periods = iter([False, False, True])
    hosts.lockstep.run_fair(lambda: next(periods))
    assert process.wait(20) == 0


def test_the_clock_never_goes_backwards(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, "a")
    clock = SharedClock(hosts.clock)
    reader = hosts.start("a", READ_OFTEN, hosts.clock, READINGS)
    hosts.go()
    ticks = itertools.count()
    while reader.poll() is None:
        for tick in itertools.islice(ticks, 10_000):
            clock.set(float(tick))
    assert reader.stdout is not None
    assert reader.stdout.read() == b"0\n"
