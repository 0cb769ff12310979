"""A script that neither computes nor prints is reported, and one whose steps stop."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tidewheel_agent.agent_path import FOR_SCRIPTS, STACK_SIGNAL
from tidewheel_agent.failure_file import LogTail
from tidewheel_agent.gang.gang import Gang
from tidewheel_agent.lifecycle import hang
from tidewheel_agent.lifecycle.hang import HangReports, HangWatch
from tidewheel_agent.log import iso_now
from tidewheel_agent.supervision.process_tree import Process
from tidewheel_agent.supervision.script import Script
from tidewheel_instrument.cells import STEPS, TRAINER, Cells


def alone() -> Gang:
    """Of one host: it opens no connection."""
    return Gang(
        "job",
        ("algo-1",),
        "algo-1",
        "algo-1",
        port=0,
        silence_seconds=5,
        on_stop=lambda reason: None,
    )


def warnings(
    cpu_per_second: float = 0.0, lines_per_minute: int = 0, gpu: float | None = None
) -> list[int]:
    """Seconds of ten minutes at which a warning came."""
    watch = HangWatch(0.0)
    found = []
    for now in range(0, 601, 10):
        lines = lines_per_minute * (now // 60)
        if watch.observe(float(now), cpu_per_second * now, lines, gpu):
            found.append(now)
    return found


def test_a_hung_script_is_reported_after_two_minutes_and_then_less_often() -> None:
    assert warnings() == [120, 240, 480]


def test_a_script_that_computes_or_prints_does_not_hang() -> None:
    assert warnings(cpu_per_second=0.05) == []
    assert warnings(lines_per_minute=1) == []
    assert warnings(gpu=3.0) == []


def test_an_idle_processes_housekeeping_is_no_work() -> None:
    assert warnings(cpu_per_second=0.001) == [120, 240, 480]


def test_one_tick_of_the_kernels_clock_is_no_work() -> None:
    watch = HangWatch(0.0, idle_seconds=2.0)
    found = [watch.observe(half / 2, 0.01 * (half // 3), 0, None) is not None for half in range(12)]
    assert found.index(True) == 4
    assert sum(found) == 2, "at 2 s, and after twice as long"


def test_little_work_is_seen_over_more_than_a_second() -> None:
    watch = HangWatch(0.0, idle_seconds=2.0)
    assert [watch.observe(half / 2, 0.01 * half, 0, None) for half in range(40)] == [None] * 40


def test_a_script_that_goes_on_is_watched_from_then() -> None:
    watch = HangWatch(0.0)
    assert watch.observe(0.0, 1.0, 0, None) is None
    assert watch.observe(110.0, 9.0, 0, None) is None
    assert watch.observe(220.0, 9.0, 0, None) is None
    assert watch.observe(231.0, 9.0, 0, None) is not None


def no_steps_after(
    last_step: int, *, seconds_a_step: int = 10, prints: bool = False, until: int = 2_000
) -> list[int]:
    """When a warning came, of a script that spins once it has made its last step."""
    watch = HangWatch(0.0)
    return [
        now
        for now in range(0, until + 1, 10)
        if watch.observe(
            float(now),
            2.0 * now,
            now // 20 if prints else 0,
            100.0,
            min(now, last_step) // seconds_a_step,
        )
    ]


def test_steps_that_stop_are_reported_although_all_is_busy() -> None:
    assert no_steps_after(100, until=1_000) == [400, 700]


def test_a_script_that_prints_other_lines_gets_more_time() -> None:
    assert no_steps_after(100, prints=True) == [1_000, 1_900]


def test_a_pause_such_as_there_was_before_is_none() -> None:
    assert no_steps_after(800, seconds_a_step=200) == [1_800]


def test_a_script_without_positions_may_compute_for_ever() -> None:
    assert no_steps_after(0) == []


# One rank spins without giving Python a turn; the other waits for it.
SPINS = """
import os, re, sys, time
print("ready", flush=True)
def spin():
    re.match("(a*)*b", "a" * 40)
def wait():
    time.sleep(300)
spin() if sys.argv[1] == "0" else wait()
"""
RANKS = f"""
import subprocess, sys
ranks = [subprocess.Popen([sys.executable, "-c", {SPINS!r}, rank]) for rank in "01"]
[rank.wait() for rank in ranks]
"""


def test_a_hang_shows_where_each_rank_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hang, "_STEP_PATIENCE_SECONDS", 20.0)
    now, step, tail, lines = 0.0, 0, LogTail(), []

    def add(line: str) -> None:
        tail.add(line)
        lines.append(line)

    script = Script(
        [sys.executable, "-c", RANKS],
        environment={
            **os.environ,
            "PYTHONPATH": str(FOR_SCRIPTS),
            "TIDEWHEEL_STACK_SIGNAL": str(STACK_SIGNAL),
        },
        directory=tmp_path,
        on_line=add,
    )
    try:
        file = tmp_path / "hangs/algo-1.json"
        reports = HangReports(
            script,
            gpu_percent=lambda: 100.0,
            positions=lambda: step,
            cells=tmp_path,
            tail=tail,
            file=file,
            gang=alone(),
            clock=lambda: now,
        )
        deadline = time.monotonic() + 60
        while "".join(lines).count("ready") < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        for moment, made in ((0.0, 0), (10.0, 1), (20.0, 2), (30.0, 3), (95.0, 3)):
            now, step = moment, made
            reports.check()
        note = json.loads(file.read_text())
        assert note["kind"] == "noSteps"
        stands = "\n".join(note["ranks"])
        assert "<string>:5 spin < <string>:8 <module>" in stands
        assert "<string>:7 wait" in stands
        assert any("line 5 in spin" in line for line in lines)
        assert script.poll() is None
    finally:
        script.kill()


def test_the_service_learns_of_a_hang_and_of_its_end(tmp_path: Path) -> None:
    now = 0.0
    file = tmp_path / "checkpoints/tidewheel-hangs/algo-1.json"
    file.parent.parent.mkdir()
    with subprocess.Popen(["sleep", "60"]) as process:
        shown = SimpleNamespace(pid=process.pid, shows_stack=False)
        script = SimpleNamespace(lines=0, processes=lambda: [shown])
        reports = HangReports(
            cast("Script", script),
            gpu_percent=lambda: None,
            positions=lambda: None,
            cells=tmp_path,
            tail=LogTail(),
            file=file,
            gang=alone(),
            clock=lambda: now,
        )
        for seconds in (0.0, 60.0, 119.0):
            now = seconds
            reports.check()
            assert not file.exists()
        now = 130.0
        reports.check()
        since = json.loads(file.read_text())["hangsSince"]
        assert since < iso_now()
        script.lines += 1
        now = 140.0
        reports.check()
        assert json.loads(file.read_text())["hangsSince"] is None
        process.kill()


def ends_idle(
    cells: Path,
    moments: Sequence[float],
    end_seconds: float,
    steps: int = 1,
    find: Callable[[], list[Process]] = list,
) -> bool:
    """Whether a script that waits is to be ended, once it was looked at in these moments."""
    now, gang = 0.0, alone()
    reports = HangReports(
        cast("Script", SimpleNamespace(lines=0, processes=find)),
        gpu_percent=lambda: None,
        positions=lambda: None,
        cells=cells,
        tail=LogTail(),
        file=None,
        gang=gang,
        end_seconds=end_seconds,
        clock=lambda: now,
    )
    reports.check()
    Cells(str(cells), TRAINER).values[STEPS] = steps
    for moment in moments:
        now = moment
        reports.check()
    return gang.state.has_hung


def test_cells_without_a_step_are_none(tmp_path: Path) -> None:
    assert not ends_idle(tmp_path, range(1, 60), 5.0, steps=0)
    assert ends_idle(tmp_path, range(1, 60), 5.0, steps=1)


def test_a_long_limit_ends_later_than_it_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not ends_idle(tmp_path, range(10, 300, 10), 400.0)
    assert "it may hang" in capsys.readouterr().out
    assert ends_idle(tmp_path, range(10, 500, 10), 400.0)


def test_a_child_computes_from_its_first_second(tmp_path: Path) -> None:
    """Each look finds one that is new and has computed; the one before it has gone."""

    def spun() -> list[Process]:
        program = "import time\nwhile time.process_time() < 0.1: pass\nprint(flush=True); input()"
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        children.append(child)
        assert child.stdout is not None
        child.stdout.readline()
        return [Process(child.pid, os.getpid(), ("python",), False)]

    children: list[subprocess.Popen[bytes]] = []
    try:
        assert not ends_idle(tmp_path, range(1, 9), 3.0, find=spun)
    finally:
        for child in children:
            child.communicate()
