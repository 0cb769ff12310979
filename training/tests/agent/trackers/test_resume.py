"""What a lost attempt logged past the checkpoint is forgotten before the next attempt starts."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from run_job import run_job
from tidewheel_agent.log import iso
from tidewheel_agent.series.event_file import EventFile, Restart
from tidewheel_agent.series.wandb_file import WandbFile
from tidewheel_agent.trackers.resume import prepare_trackers
from tidewheel_agent.trackers.resume_point import BEGINNING, ResumePoint, read_resume_point

RECORDED = Path(__file__).parents[1] / "series" / "recorded"
MLFLOW_RUN = "9dc9ec4232d64e7bb72c757c2f3d3dde"
IDENTITY = "digits-000001-0a1b2c"


def save(checkpoints: Path, step: int, at: float, *, noted: bool = True) -> None:
    folder = checkpoints / f"step-{step:08d}"
    folder.mkdir(parents=True)
    marker = folder / "COMPLETE.json"
    marker.write_text(json.dumps({"step": step, "files": {}}))
    os.utime(marker, (at, at))
    if noted:
        note = {"step": step, "updatedAt": iso(at), "saveSeconds": 0.5}
        (checkpoints / "tidewheel-progress.json").write_text(json.dumps(note))


def mlflow_metric(checkpoints: Path, text: str, tag: str = IDENTITY) -> Path:
    run = checkpoints / "tidewheel-trackers" / "mlruns" / "5" / MLFLOW_RUN
    for name in ("tags", "metrics"):
        (run / name).mkdir(parents=True)
    (run / "meta.yaml").write_text(
        f"artifact_uri: file:///elsewhere/tidewheel-trackers/mlruns/5/{MLFLOW_RUN}/artifacts\n"
        "lifecycle_stage: active\nstart_time: 1000\n"
    )
    (run / "tags" / "tidewheel.run").write_text(tag)
    (run / "metrics" / "loss").write_text(text)
    return run


def lines(*steps: int) -> str:
    return "".join(f"{(1000 + step) * 1000} 0.5 {step}\n" for step in steps)


def test_the_step_decides_where_the_series_counts_as_the_checkpoint_does() -> None:
    points = [(step, 1000.0 + step) for step in range(60)]
    # The marker came after step 50, while step 51 was being trained.
    assert ResumePoint(50, after=1045.0, saved_at=1051.4).last_before_resume(points) == 50


def test_the_time_decides_where_the_series_counts_something_else() -> None:
    batches = [(100.0 * step, 1000.0 + step) for step in range(60)]
    assert ResumePoint(3, after=1049.0, saved_at=1050.5).last_before_resume(batches) == 5000
    assert BEGINNING.last_before_resume(batches) < 0


def test_a_checkpoint_that_no_note_names_is_still_the_one_to_resume_from(tmp_path: Path) -> None:
    save(tmp_path, 10, 1010.0)
    save(tmp_path, 15, 1015.0, noted=False)
    resume = read_resume_point(tmp_path)
    assert resume is not None
    assert resume.last_before_resume((step, 1000.0 + step) for step in range(20)) == 15


def test_nothing_is_forgotten_where_the_script_may_have_its_own_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "tidewheel-trackers").mkdir()
    assert read_resume_point(tmp_path) == BEGINNING
    (tmp_path / "state.unknown").touch()
    assert read_resume_point(tmp_path) is None


def test_mlflow_resumes_the_run_and_drops_what_comes_again(tmp_path: Path) -> None:
    trained = run_job(tmp_path / "ml", 2)
    assert trained.checkpoint_dir is not None
    run = mlflow_metric(trained.checkpoint_dir, lines(*range(1, 15)))
    save(trained.checkpoint_dir, 10, 1010.2)
    assert prepare_trackers(trained, {})["MLFLOW_RUN_ID"] == MLFLOW_RUN
    assert (run / "metrics" / "loss").read_text() == lines(*range(1, 11))
    assert f"artifact_uri: {run.as_uri()}/artifacts\n" in (run / "meta.yaml").read_text()
    assert "MLFLOW_RUN_ID" not in prepare_trackers(trained, {"MLFLOW_TRACKING_URI": "http://x"})


@pytest.mark.parametrize("torn", ["", "10", "1001000 0.5"])
def test_a_metric_that_a_kill_cut_short_is_removed(tmp_path: Path, torn: str) -> None:
    trained = run_job(tmp_path / "ml", 2)
    assert trained.checkpoint_dir is not None
    run = mlflow_metric(trained.checkpoint_dir, torn)
    (trained.checkpoint_dir / "state.unknown").touch()
    prepare_trackers(trained, {})
    # MLflow cannot read a metric without a value, and then resumes no run.
    assert not (run / "metrics" / "loss").exists()


@pytest.mark.parametrize("torn", ["", "artifact_uri: file:///elsewhere\nend_time: nu"])
def test_a_run_whose_metadata_a_kill_emptied_is_resumed(tmp_path: Path, torn: str) -> None:
    trained = run_job(tmp_path / "ml", 2)
    assert trained.checkpoint_dir is not None
    run = mlflow_metric(trained.checkpoint_dir, lines(7, 8))
    (run / "tags" / "mlflow.runName").write_text("a: name")
    (run / "meta.yaml").write_text(torn)
    assert prepare_trackers(trained, {})["MLFLOW_RUN_ID"] == MLFLOW_RUN
    text = (run / "meta.yaml").read_text()
    assert f"artifact_uri: {run.as_uri()}/artifacts\n" in text
    assert 'run_name: "a: name"\n' in text and "start_time: 1007000\n" in text
    # Remade once: what is whole stays as MLflow wrote it.
    prepare_trackers(trained, {})
    assert (run / "meta.yaml").read_text() == text


def test_another_runs_metrics_stay(tmp_path: Path) -> None:
    trained = run_job(tmp_path / "ml", 2)
    assert trained.checkpoint_dir is not None
    run = mlflow_metric(trained.checkpoint_dir, lines(1, 2, 3), tag="other-000001-0a1b2c")
    assert "MLFLOW_RUN_ID" not in prepare_trackers(trained, {})
    assert (run / "metrics" / "loss").read_text() == lines(1, 2, 3)


def test_a_wandb_file_ends_at_the_checkpoint(tmp_path: Path) -> None:
    trained = run_job(tmp_path / "ml", 2)
    assert trained.checkpoint_dir is not None
    folder = trained.checkpoint_dir / "tidewheel-trackers" / "wandb" / "offline-run-1-x"
    folder.mkdir(parents=True)
    copy = shutil.copy(RECORDED / "run-recorded.wandb", folder)
    rows = list(WandbFile(Path(copy)).read())
    assert rows[0].at is not None
    save(trained.checkpoint_dir, 2, rows[0].at + 0.5)
    prepare_trackers(trained, {})
    assert [row.position for row in WandbFile(Path(copy)).read()] == [0, 1, 2]


def test_tensorboard_is_told_once_what_comes_again(tmp_path: Path) -> None:
    trained = run_job(tmp_path / "ml", 2)
    assert trained.checkpoint_dir is not None
    board = trained.checkpoint_dir / "tidewheel-trackers" / "tensorboard"
    board.mkdir(parents=True)
    shutil.copy(RECORDED / "events.out.tfevents.1000.recorded", board)
    save(trained.checkpoint_dir, 2, 1002.3)
    prepare_trackers(trained, {})
    prepare_trackers(trained, {})
    (marker,) = board.glob("*tidewheel")
    assert list(EventFile(marker).events()) == [Restart(3)]


def test_files_that_cannot_be_read_do_not_keep_the_script_from_starting(tmp_path: Path) -> None:
    trained = run_job(tmp_path / "ml", 2)
    assert trained.checkpoint_dir is not None
    (trained.checkpoint_dir / "tidewheel-trackers").write_text("a file in place of the folder")
    assert prepare_trackers(trained, {})["WANDB_RUN_ID"] == IDENTITY
