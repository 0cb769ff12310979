"""What Comet's and Neptune's clients make of the variables that every attempt gets, without a net.

`pytest -m heavy tests/agent/unmodified/test_online_trackers.py` makes an environment of them.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from heavy import python_over_torch
from run_job import run_job
from tidewheel_agent.trackers.identity import tracker_environment

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]
COMET = """
import glob, json, sys, zipfile
import comet_ml
if sys.argv[1] == "start":
    configuration = comet_ml.ExperimentConfig(offline_directory=".")
    experiment = comet_ml.start(online=False, experiment_config=configuration)
else:
    experiment = comet_ml.OfflineExperiment(offline_directory=".")
experiment.log_metric("loss", 0.5, step=1)
experiment.end()
(path,) = glob.glob("*.zip")
described = json.loads(zipfile.ZipFile(path).read("experiment.json"))
print(json.dumps([described["offline_id"], described["resume_strategy"]]))
"""
# Neptune's own stand-in for its server, which here notes what the client asks of it.
NEPTUNE = """
import json
import neptune
from neptune.internal.backends.neptune_backend_mock import NeptuneBackendMock
create = NeptuneBackendMock.create_run
def note(self, *args, custom_run_id=None, **named):
    print(json.dumps(custom_run_id))
    return create(self, *args, custom_run_id=custom_run_id, **named)
NeptuneBackendMock.create_run = note
neptune.init_run(mode="debug").stop()
"""


def printed(folder: Path, attempt: int, program: str, *arguments: str) -> object:
    """Starts `program` with the variables of an attempt; the JSON that it prints."""
    folder.mkdir()
    variables = tracker_environment(run_job(folder / "ml", attempt), None)
    command = [str(python_over_torch("online-trackers")), "-c", program, *arguments]
    ended = subprocess.run(
        command, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    return next(json.loads(line) for line in ended.stdout.splitlines() if line[:1] in '["')


def key(folder: Path) -> str:
    return tracker_environment(run_job(folder / "ml", 1), None)["COMET_EXPERIMENT_KEY"]


def test_all_attempts_resume_one_experiment_of_comet(tmp_path: Path) -> None:
    expected = [key(tmp_path), "get_or_create"]
    for attempt in (1, 2):
        assert printed(tmp_path / f"{attempt}", attempt, COMET, "start") == expected


def test_comets_experiment_classes_do_not_resume(tmp_path: Path) -> None:
    """So docs/training.md asks for `comet_ml.start()`."""
    assert printed(tmp_path / "1", 2, COMET, "class") == [key(tmp_path), "create"]


def test_all_attempts_ask_neptune_for_one_run(tmp_path: Path) -> None:
    expected = key(tmp_path)
    for attempt in (1, 2):
        assert printed(tmp_path / f"{attempt}", attempt, NEPTUNE) == expected
