"""A script that neither computes nor prints is reported after two minutes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from tidewheel_agent.lifecycle import hang
from tidewheel_agent.lifecycle.hang import HangWatch
from tidewheel_agent.log import iso_now
from tidewheel_agent.supervision.script import Script


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


def test_a_script_that_goes_on_is_watched_from_then() -> None:
    watch = HangWatch(0.0)
    assert watch.observe(0.0, 1.0, 0, None) is None
    assert watch.observe(110.0, 9.0, 0, None) is None
    assert watch.observe(220.0, 9.0, 0, None) is None
    assert watch.observe(231.0, 9.0, 0, None) is not None


def test_the_service_learns_of_a_hang_and_of_its_end(tmp_path: Path) -> None:
    now = 0.0
    file = tmp_path / "checkpoints/tidewheel-hangs/algo-1.json"
    file.parent.parent.mkdir()
    with subprocess.Popen(["sleep", "60"]) as process:
        script = SimpleNamespace(lines=0, processes=lambda: [process])
        reports = hang.HangReports(cast("Script", script), lambda: None, file, lambda: now)
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
