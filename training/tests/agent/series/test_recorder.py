"""The file of an attempt's points."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tidewheel_agent.series.log_lines import LogLines
from tidewheel_agent.series.point import Point
from tidewheel_agent.series.recorder import SeriesRecorder
from tidewheel_contract.documents import SeriesStartResumedFrom


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
    assert set(start) == {"version", "startedAt"}
    assert [each["position"] for each in points] == [1, 21, 41, 61, 81, 100]


def test_positions_of_a_series_only_rise(tmp_path: Path) -> None:
    recorder = SeriesRecorder(tmp_path, 1, SeriesStartResumedFrom(step=5, saved_at=7.0))
    for number, position in enumerate([6, 9, 9, 3, 12]):
        recorder.add("log", point(position, 1000 + 10 * number, loss=0.5))
    recorder.close()
    assert [each["position"] for each in recorded(tmp_path)[1:]] == [6, 9, 12]


def kept(folder: Path) -> dict[str, list[tuple[float, float | None]]]:
    """Position and value of each point, by the name of its series."""
    found: dict[str, list[tuple[float, float | None]]] = {}
    for each in recorded(folder)[1:]:
        for name, value in each["values"].items():
            found.setdefault(name, []).append((each["position"], value))
    return found


def test_the_last_value_of_each_name_is_kept_however_soon_it_came(tmp_path: Path) -> None:
    recorder = SeriesRecorder(tmp_path, 1, None)
    recorder.add("log", point(1, 1000, loss=0.9, accuracy=0.1))
    recorder.add("log", point(2, 1000.1, loss=0.5))
    recorder.add("log", point(2, 1000.2, accuracy=0.7))
    recorder.add("log", point(2, 1000.3, train_loss=0.6))
    recorder.add("log", point(2, 1000.4, accuracy=0.8))
    recorder.close()
    assert kept(tmp_path) == {
        "loss": [(1, 0.9), (2, 0.5)],
        "accuracy": [(1, 0.1), (2, 0.8)],
        "train_loss": [(2, 0.6)],
    }


def test_the_last_value_is_kept_behind_the_most_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidewheel_agent.series.recorder._MOST_BYTES", 300)
    recorder = SeriesRecorder(tmp_path, 1, None)
    for step in range(100):
        recorder.add("log", point(step, 1000 + 10 * step, loss=1 - step / 100))
    recorder.close()
    points = kept(tmp_path)["loss"]
    assert (len(points) < 9, points[-1]) == (True, (99, 0.01))


@pytest.mark.parametrize("last", [math.nan, math.inf, -math.inf])
def test_infinity_and_nan_are_null_beside_other_values(tmp_path: Path, last: float) -> None:
    recorder = SeriesRecorder(tmp_path, 1, None)
    recorder.add("log", point(1, 1000, loss=0.5, lr=0.1))
    recorder.add("log", point(2, 1010, loss=last, lr=0.1))
    assert recorder.add("log", point(math.nan, 1020, loss=0.5)) == {}
    recorder.close()
    assert kept(tmp_path) == {"loss": [(1, 0.5), (2, None)], "lr": [(1, 0.1), (2, 0.1)]}


def test_what_a_bar_shows_again_is_no_point(tmp_path: Path) -> None:
    lines, recorder = LogLines(), SeriesRecorder(tmp_path, 1, None)
    bar = "{step}%|#  | {step}/100 [00:10<01:15, 1.2it/s, loss={loss}, eval_accuracy={accuracy}]"
    printed = [
        *(bar.format(step=step, loss=0.9, accuracy=0.1) for step in (1, 5, 9)),
        *(bar.format(step=step, loss=0.5, accuracy=0.1) for step in (20, 25, 30)),
        bar.format(step=40, loss="nan", accuracy=0.8),
        *(bar.format(step=step, loss="nan", accuracy=0.8) for step in range(50, 101, 10)),
    ]
    for number, line in enumerate(printed):
        found = lines.read(line)
        assert found is not None
        recorder.add("log", replace(found, at=1000 + 10.0 * number))
    recorder.close()
    assert kept(tmp_path) == {
        "loss": [(1, 0.9), (20, 0.5), (40, None)],
        "eval_accuracy": [(1, 0.1), (40, 0.8)],
    }


def test_values_that_a_log_line_repeats_are_measured(tmp_path: Path) -> None:
    lines, recorder = LogLines(), SeriesRecorder(tmp_path, 1, None)
    for step in (1, 2, 3):
        found = lines.read(f"step {step} lr 0.1")
        assert found is not None
        recorder.add("log", replace(found, at=1000 + 10.0 * step))
    recorder.close()
    assert kept(tmp_path) == {"lr": [(1, 0.1), (2, 0.1), (3, 0.1)]}


def test_a_file_that_a_kill_cut_short_goes_on_in_a_line_of_its_own(tmp_path: Path) -> None:
    recorder = SeriesRecorder(tmp_path, 1, None)
    recorder.add("log", point(1, 1000, loss=0.5))
    path = tmp_path / "tidewheel-series" / "attempt-1.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    SeriesRecorder(tmp_path, 1, None)
    assert set(json.loads(path.read_text().splitlines()[-1])) == {"version", "startedAt"}


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
