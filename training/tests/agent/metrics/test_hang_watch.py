"""A script that neither computes nor prints is reported after two minutes."""

from __future__ import annotations

from tidewheel_agent.metrics.hang_watch import HangWatch


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
