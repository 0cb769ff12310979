"""How long threads that could run have no core, as the kernel counts it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tidewheel_agent.evidence.cells import ProcessCounts
from tidewheel_agent.evidence.host_state import Memory, waits_for_cores
from tidewheel_agent.evidence.point import Between, Look, Place, point_between
from tidewheel_agent.metrics.counters import Reading

_SPIN = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
end = time.monotonic() + 30
while time.monotonic() < end: pass
"""


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="this kernel counts no waits")
def test_processes_on_one_core_wait_for_it() -> None:
    core = str(min(os.sched_getaffinity(0)))
    spinning = [subprocess.Popen([sys.executable, "-c", _SPIN, core]) for _ in range(3)]
    try:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            waited = [sum(waits_for_cores(each.pid).values()) for each in spinning]
            if min(waited) > 0.2:
                break
            time.sleep(0.1)
        assert min(waited) > 0.2
    finally:
        for each in spinning:
            each.kill()
            each.wait()
    assert waits_for_cores(spinning[0].pid) == {}


Waits = dict[int, dict[int, float]]
"""Seconds of each thread, by process."""


def _look(at: float, steps: int, waits: Waits) -> Look:
    processes = [ProcessCounts(pid=pid, is_trainer=True, steps=steps) for pid in (7, 8)]
    return Look(Reading(at=at, wall=at), Memory(4, 2, 1, 0), processes, {}, waits)


def _wait_for_core(
    before: dict[int, dict[int, float]], after: dict[int, dict[int, float]]
) -> object:
    looks = (_look(100, 0, before), _look(110, 20, after))
    point = point_between(*looks, Between([0.5], 1.0, None), Place(0, 2))
    return point.cpu.wait_for_core


def test_the_thread_that_waits_longest_counts() -> None:
    before = {7: {7: 1.0, 70: 1.0}, 8: {8: 0.0}}
    after = {7: {7: 2.0, 70: 7.0, 71: 0.5}, 8: {8: 4.0}}
    assert _wait_for_core(before, after) == pytest.approx(0.5)


def test_without_the_kernel_nothing_is_known() -> None:
    assert _wait_for_core({7: {}, 8: {}}, {7: {}, 8: {}}) is None
