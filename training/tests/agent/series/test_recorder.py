"""The file of an attempt's points."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tidewheel_agent.series.point import Point
from tidewheel_agent.series.recorder import SeriesRecorder


def recorded(folder: Path, attempt: int = 1) -> list[Any]:
    path = folder / "tidewheel-series" / f"attempt-{attempt}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def point(position: float, at: float, **values: float) -> Point:
    return Point(position, values, at=at)


def test_points_come_at_most_every_two_seconds_and_the_last_always(tmp_path: Path) -> None:
    recorder = SeriesRecorder(tmp_path, 1, None)
    for step in range(1, 101):
        recorder.add("log", point(step, 1000 + step * 0.1, loss=1 / step))
    recorder.close()
    start, *points = recorded(tmp_path)
    assert set(start) == {"startedAt", "resumedFrom"}
    assert [each["position"] for each in points] == [1, 21, 41, 61, 81, 100]


def test_positions_of_a_series_only_rise(tmp_path: Path) -> None:
    recorder = SeriesRecorder(tmp_path, 1, {"step": 5, "savedAt": 7.0})
    for number, position in enumerate([6, 9, 9, 3, 12]):
        recorder.add("log", point(position, 1000 + 10 * number, loss=0.5))
    recorder.close()
    assert [each["position"] for each in recorded(tmp_path)[1:]] == [6, 9, 12]


def test_a_file_that_a_kill_cut_short_goes_on_in_a_line_of_its_own(tmp_path: Path) -> None:
    recorder = SeriesRecorder(tmp_path, 1, None)
    recorder.add("log", point(1, 1000, loss=0.5))
    path = tmp_path / "tidewheel-series" / "attempt-1.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    SeriesRecorder(tmp_path, 1, None)
    assert json.loads(path.read_text().splitlines()[-1])["resumedFrom"] is None


def test_28_days_of_points_stay_small(tmp_path: Path) -> None:
    recorder = SeriesRecorder(tmp_path, 1, None)
    now = recorder._started_at
    for minute in range(28 * 24 * 60):
        recorder.add("log", point(minute, now + 60 * minute, loss=0.5, accuracy=0.5))
    recorder.close()
    assert (tmp_path / "tidewheel-series" / "attempt-1.jsonl").stat().st_size < 2_000_000


def test_a_full_disk_does_not_end_the_training(tmp_path: Path) -> None:
    (tmp_path / "tidewheel-series").write_text("a file in place of the folder")
    SeriesRecorder(tmp_path, 1, None).add("log", point(1, 1000, loss=0.5))
