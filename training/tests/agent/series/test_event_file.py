"""TensorBoard's event files, as torch 2.15's SummaryWriter wrote `recorded/`."""

from __future__ import annotations

from pathlib import Path

from tidewheel_agent.series.event_file import EventFile, Restart, session_start
from tidewheel_agent.series.point import Point

RECORDED = Path(__file__).parent / "recorded" / "events.out.tfevents.1000.recorded"


def test_scalars_are_read_with_step_and_time() -> None:
    points = list(EventFile(RECORDED).read())
    assert [(p.position, p.at) for p in points[:5]] == [(s, 1000.0 + s) for s in range(5)]
    assert [round(p.values["train/loss"], 6) for p in points[:3]] == [1.0, 0.5, 0.333333]
    assert points[5] == Point(7, {"new": 2.5}, at=2000.0)


def test_a_growing_file_gives_each_point_once(tmp_path: Path) -> None:
    whole = RECORDED.read_bytes()
    path = tmp_path / "events.out.tfevents.1"
    file = EventFile(path)
    path.touch()
    found = []
    for end in range(0, len(whole) + 7, 7):
        path.write_bytes(whole[:end])
        found += list(file.read())
    assert found == list(EventFile(RECORDED).read())


def test_bytes_that_are_no_events_give_no_points(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1"
    for content in (b"", b"\xff" * 100, bytes(100), b"text\n" * 30):
        path.write_bytes(content)
        assert list(EventFile(path).read()) == []


def test_a_session_start_is_read_as_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(session_start(1234, 5.0))
    assert list(EventFile(path).events()) == [Restart(1234)]
