"""Points in the files that loggers write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tidewheel_agent.series.log_files import LogFiles
from tidewheel_agent.series.point import Point


def watch(folder: Path) -> tuple[LogFiles, list[tuple[str, Point]]]:
    found: list[tuple[str, Point]] = []
    files = LogFiles([folder], lambda source, point: found.append((source, point)))
    files.start()
    return files, found


def test_only_what_a_file_gains_is_read(tmp_path: Path) -> None:
    log = tmp_path / "lightning_logs" / "version_0" / "metrics.csv"
    log.parent.mkdir(parents=True)
    log.write_text("epoch,step,train_loss,val_loss\n0,10,0.9,\n")
    files, found = watch(tmp_path)
    with log.open("a") as file:
        file.write("0,20,0.8,\n0,20,,0.7\n1,30,0.")
    files.close()
    assert [(s, p.position, p.values) for s, p in found] == [
        ("csv", 20, {"train_loss": 0.8}),
        ("csv", 20, {"val_loss": 0.7}),
    ]


@pytest.mark.parametrize(
    "name",
    ["metrics.csv", "summary.csv", "results.csv", "progress.csv", "log.csv"],
)
@pytest.mark.parametrize(
    ("column", "unit"),
    [("step", "step"), ("global_step", "step"), ("iteration", "step"), ("epoch", "epoch")],
)
def test_a_table_of_each_name_is_read_by_each_position(
    tmp_path: Path, name: str, column: str, unit: str
) -> None:
    files, found = watch(tmp_path)
    (tmp_path / name).write_text(f"{column},loss\n7,0.5\n")
    files.close()
    assert [(p.unit, p.position, p.values) for _, p in found] == [(unit, 7, {"loss": 0.5})]


def test_timms_and_huggingfaces_and_mlflows_files_are_read(tmp_path: Path) -> None:
    files, found = watch(tmp_path)
    (tmp_path / "summary.csv").write_text("epoch,train_loss,eval_top1\n0,6.9,0.5\n")
    state = tmp_path / "checkpoint-5" / "trainer_state.json"
    state.parent.mkdir()
    entry = {"step": 5, "epoch": 0.1, "loss": 0.4}
    state.write_text(json.dumps({"log_history": [entry, {"note": "text"}]}))
    metric = tmp_path / "mlruns" / "0" / ("a" * 32) / "metrics" / "acc"
    metric.parent.mkdir(parents=True)
    metric.write_text("5000 0.25 3\n6000 0.5")
    files.close()
    assert sorted((s, p.unit, p.position, p.values) for s, p in found if s != "x") == [
        ("csv", "epoch", 0, {"train_loss": 6.9, "eval_top1": 0.5}),
        ("mlflow", "step", 3, {"acc": 0.25}),
        ("trainer_state", "step", 5, {"loss": 0.4}),
    ]


def test_a_file_that_cannot_be_read_does_not_end_the_others(tmp_path: Path) -> None:
    files, found = watch(tmp_path)
    (tmp_path / "trainer_state.json").write_text("[")
    (tmp_path / "results.csv").write_text("step,loss\n1,0.5\n")
    (tmp_path / "run-x.wandb").mkdir()
    files.close()
    assert [p.values for _, p in found] == [{"loss": 0.5}]
