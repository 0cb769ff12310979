"""A `metrics.json` beside the model, which a script may have written in any way."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest

from cluster import running
from sagemaker_host import make_host
from tidewheel_agent.series.model_metrics import model_metrics
from tidewheel_agent.series.point import Point
from tidewheel_agent.series.recorder import SeriesRecorder


def test_numbers_are_found_at_any_depth_by_their_path(tmp_path: Path) -> None:
    written = {"accuracy": 0.95, "test": {"auc": 0.91, "report": {"a": {"f1": 1, "b": {"c": 2}}}}}
    more = {"name": "x", "done": True, "none": None, "all": [0.1], "loss": math.nan, "a\nb": 1}
    (tmp_path / "metrics.json").write_text(json.dumps(written | more))
    found = model_metrics(tmp_path)
    assert math.isnan(found.pop("loss"))
    assert found == {"accuracy": 0.95, "test.auc": 0.91, "test.report.a.f1": 1.0}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1, 2]",
        "0.5",
        "null",
        '{"a": 1' + "0" * 400 + "}",
        "[" * 100_000,
        '{"a":' * 50_000,
        '{"a": 1}' + " " * 300_000,
        b"\xff\xfe",
    ],
)
def test_what_is_no_object_of_numbers_says_nothing(tmp_path: Path, text: str | bytes) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    (tmp_path / "metrics.json").write_bytes(data)
    assert model_metrics(tmp_path) == {}


def test_links_pipes_and_folders_are_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"a": 1}')
    path = tmp_path / "metrics.json"
    assert model_metrics(tmp_path) == {}
    path.symlink_to(secret)
    assert model_metrics(tmp_path) == {}
    path.unlink()
    os.mkfifo(path)
    assert model_metrics(tmp_path) == {}
    path.unlink()
    path.mkdir()
    assert model_metrics(tmp_path) == {}


def test_at_most_a_hundred_numbers_are_kept(tmp_path: Path) -> None:
    (tmp_path / "metrics.json").write_text(json.dumps({f"m{n}": n for n in range(1_000)}))
    assert list(model_metrics(tmp_path)) == [f"m{n}" for n in range(100)]


def test_the_recorder_knows_where_the_training_stands(tmp_path: Path) -> None:
    recorder = SeriesRecorder(tmp_path, 1, None)
    assert recorder.furthest() == (0, "step")
    recorder.add("csv", Point(3, {"loss": 1.0}, unit="epoch"))
    assert recorder.furthest() == (3, "epoch")
    recorder.add("log", Point(2, {"loss": 1.0}))
    assert recorder.furthest() == (2, "step")


def test_they_end_the_series_of_a_run(tmp_path: Path) -> None:
    script = """
import json, os, pathlib
for step in range(1, 4):
    print(f"step {step} loss: {1 / step}", flush=True)
folder = pathlib.Path(os.environ["SM_MODEL_DIR"])
(folder / "metrics.json").write_text(json.dumps({"loss": 0.25, "auc": 0.91}))
"""
    base = make_host(tmp_path / "ml", script=script)
    with running([base]) as cluster:
        assert cluster.wait(30) == [0], cluster.log()
    series = base / "checkpoints" / "tidewheel-series" / "attempt-1.jsonl"
    lines = [json.loads(line) for line in series.read_text().splitlines()]
    (point,) = [line for line in lines if line.get("source") == "model"]
    assert point["position"] == 3
    assert point["values"] == {"loss": 0.25, "auc": 0.91}
