"""Hosts in lockstep: each gets its CPU time, whatever else the machine does."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lockstep import Lockstep

pytestmark = pytest.mark.slow
CORES = 0.25
SLACK = 0.15
"""Seconds: three periods, in which a process that starts waits for more than its CPU."""
SPIN = "import sys, time\nwhile time.process_time() < float(sys.argv[1]): pass\n"
"""Uses so many CPU seconds, its start counted."""
SPIN_TWICE = (
    "import subprocess, sys\n"
    "spin = [sys.executable, '-c', sys.argv[2], sys.argv[1]]\n"
    "for _ in range(2): subprocess.run(spin, check=True)\n"
)
"""The same in two processes, one after the other."""
WAIT = (
    "import pathlib, struct, sys, time\n"
    "now = lambda: struct.unpack('<d', pathlib.Path(sys.argv[2]).read_bytes())[0]\n"
    "began = now()\n"
    "while now() < began + float(sys.argv[1]): time.sleep(0.01)\n"
    "print(now() - began)\n"
)


class Hosts:
    """Processes that name their host in their environment."""

    def __init__(self, folder: Path, *names: str) -> None:
        self.clock = folder / "clock"
        self.lines = {name: f"TEST_HOST={folder}/{name}" for name in names}
        self.lockstep = Lockstep(self.lines, self.clock, cores=CORES)
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, name: str, code: str, *arguments: object) -> subprocess.Popen[bytes]:
        variable, _, value = self.lines[name].partition("=")
        command = [sys.executable, "-c", code, *map(str, arguments)]
        environment = {**os.environ, variable: value}
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
        self.processes.append(process)
        return process

    def run_to_the_end(self) -> float:
        """Seconds of their own clock."""
        deadline = time.monotonic() + 60
        self.lockstep.run_fair(
            lambda: time.monotonic() > deadline or all(p.poll() is not None for p in self.processes)
        )
        assert [process.returncode for process in self.processes] == [0] * len(self.processes)
        return self.lockstep.now


@contextmanager
def other_work(count: int) -> Iterator[None]:
    busy = [subprocess.Popen([sys.executable, "-c", SPIN, "60"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


@pytest.mark.parametrize("busy", [0, 4])
def test_work_takes_its_cpu_time_over_the_hosts_cores_on_an_idle_and_a_busy_machine(
    tmp_path: Path, busy: int
) -> None:
    hosts = Hosts(tmp_path, "a")
    with other_work(busy):
        hosts.start("a", SPIN, 0.2)
        seconds = hosts.run_to_the_end()
    assert seconds == pytest.approx(0.2 / CORES, abs=SLACK)
    assert hosts.lockstep.cpu_seconds()["a"] == pytest.approx(0.2, rel=0.1)


def test_two_hosts_do_the_work_of_one_in_half_the_time(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, "a", "b")
    hosts.start("a", SPIN, 0.1)
    hosts.start("b", SPIN, 0.1)
    assert hosts.run_to_the_end() == pytest.approx(0.1 / CORES, abs=SLACK)


def test_processes_of_one_host_share_its_time(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, "a")
    hosts.start("a", SPIN, 0.1)
    hosts.start("a", SPIN, 0.1)
    assert hosts.run_to_the_end() == pytest.approx(0.2 / CORES, abs=SLACK)


def test_the_time_of_children_that_have_ended_stays_counted(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, "a")
    hosts.start("a", SPIN_TWICE, 0.15, SPIN)
    hosts.run_to_the_end()
    # The parent's own start comes on top; of each child the last glance before its end may miss.
    assert 0.28 <= hosts.lockstep.cpu_seconds()["a"] <= 0.5


def test_who_waits_by_the_clock_waits_as_long_beside_other_work(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, "a", "b")
    with other_work(4):
        waiting = hosts.start("a", WAIT, 0.5, hosts.clock)
        hosts.start("b", SPIN, 0.1)
        hosts.run_to_the_end()
    assert waiting.stdout is not None
    # It looks once in ten milliseconds, and may find the next period begun.
    assert 0.5 <= float(waiting.stdout.read()) <= 0.65


def test_nothing_stays_stopped(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, "a")
    process = hosts.start("a", SPIN, 0.2)
    periods = iter([False, False, True])
    hosts.lockstep.run_fair(lambda: next(periods))
    assert process.wait(20) == 0
