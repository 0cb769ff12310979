"""When the agent warns that checkpoints have stopped coming."""

from __future__ import annotations

import pytest

from tidewheel_agent.checkpoints.checkpoint import Checkpoint
from tidewheel_agent.checkpoints.stall_watch import StallWatch


def checkpoint(step: int) -> Checkpoint:
    return Checkpoint(step, f"step-{step:08d}", 480, None, size_bytes=10)


def test_a_stall_is_reported_again_each_time_it_doubles() -> None:
    watch = StallWatch(0, 100)
    assert watch.observe(50, checkpoint(1)) == []
    warned = [
        now
        for now in range(51, 2000)
        for line in watch.observe(now, checkpoint(1))
        if line.startswith("WARNING")
    ]
    assert warned == [350, 650, 1250]
    assert watch.summary()["stalls"] == 3


def test_steady_checkpoints_cause_no_warning() -> None:
    watch = StallWatch(0, None)
    lines = [line for now in range(0, 4000) for line in watch.observe(now, checkpoint(now // 300))]
    assert not any("WARNING" in line for line in lines)
    assert lines[1] == "checkpoint age_seconds=120 step=0 size_bytes=10"
    assert watch.summary() == {
        "count": 14,
        "meanIntervalSeconds": 300.0,
        "sizeBytes": 10,
        "saveSeconds": None,
        "stalls": 0,
    }


@pytest.mark.parametrize(("interval", "first"), [(None, 1800), (10.0, 120), (1000.0, 3000)])
def test_patience_for_the_first_checkpoint_follows_the_interval(
    interval: float | None, first: int
) -> None:
    watch = StallWatch(0, interval)
    assert watch.observe(first - 1, None) == []
    assert "WARNING: no new complete checkpoint" in watch.observe(first, None)[0]
