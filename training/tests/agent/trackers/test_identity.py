"""The variables by which all attempts of a run are one run in a tracker."""

from __future__ import annotations

import re
from pathlib import Path

from run_job import RUN, run_job
from tidewheel_agent.trackers.identity import run_identity, tracker_environment

PER_ATTEMPT = {"TIDEWHEEL_ATTEMPT"}


def test_all_attempts_of_a_run_have_the_same_variables(tmp_path: Path) -> None:
    first = tracker_environment(run_job(tmp_path / "1" / "ml", 1, checkpoints=False), None)
    ninth = tracker_environment(run_job(tmp_path / "9" / "ml", 9, checkpoints=False), None)
    assert {name for name in first if first[name] != ninth[name]} == PER_ATTEMPT
    assert first["WANDB_RUN_ID"] == f"{RUN}-0a1b2c"
    assert first["WANDB_RESUME"] == "allow"
    assert ninth["TIDEWHEEL_ATTEMPT"] == "9"


def test_runs_hosts_and_installations_differ(tmp_path: Path) -> None:
    jobs = [
        run_job(tmp_path / "a", 1),
        run_job(tmp_path / "b", 1, run="digits-000002"),
        run_job(tmp_path / "c", 1, installation="ffffff"),
        run_job(tmp_path / "d", 1, host="127.0.0.2"),
    ]
    for name in ("WANDB_RUN_ID", "COMET_EXPERIMENT_KEY", "NEPTUNE_CUSTOM_RUN_ID"):
        assert len({tracker_environment(each, None)[name] for each in jobs}) == len(jobs)


def test_each_id_has_only_the_characters_that_its_tracker_allows(tmp_path: Path) -> None:
    environment = tracker_environment(run_job(tmp_path / "ml", 1, run="a" * 40 + "-000001"), None)
    assert not set(environment["WANDB_RUN_ID"]) & set(":;,#?/'")
    assert re.fullmatch(r"[0-9a-zA-Z]{32,50}", environment["COMET_EXPERIMENT_KEY"])
    assert len(environment["NEPTUNE_CUSTOM_RUN_ID"]) <= 36


def test_offline_files_lie_in_the_checkpoint_folder(tmp_path: Path) -> None:
    trained = run_job(tmp_path / "ml", 1)
    environment = tracker_environment(trained, "0" * 32)
    for name in ("WANDB_DIR", "TENSORBOARD_LOGGING_DIR", "MLFLOW_TRACKING_URI"):
        assert str(trained.checkpoint_dir) in environment[name]
    assert environment["MLFLOW_RUN_ID"] == "0" * 32


def test_a_job_that_belongs_to_no_run_gets_no_variables(tmp_path: Path) -> None:
    trained = run_job(tmp_path / "ml", 1, run="not a run; $(id)")
    assert run_identity(trained) is None
    assert tracker_environment(trained, None) == {}
