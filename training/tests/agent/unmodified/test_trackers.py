"""A script that logs to W&B, MLflow and TensorBoard, killed again and again, is one run there.

`pytest -m heavy tests/agent/unmodified/test_trackers.py` makes an environment of the trackers'
packages. TIDEWHEEL_TRACKER_SEEDS (1), TIDEWHEEL_TRACKER_FIRST_SEED (1) and TIDEWHEEL_TRACKER_KILLS
(20) say how often. The starts of a seed share the imports of the trackers (warm_python.py), except
for those of the test with a Python of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import Cluster, running
from heavy import python_over_torch
from hosts import TRAINING
from sagemaker_host import make_host
from tidewheel_agent.series.wandb_file import WandbFile
from warm_python import WarmPython, script_pid, warm_python

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(7200)]

SCRIPT = Path(__file__).with_name("tracked_script.py")
SEEDS = int(os.environ.get("TIDEWHEEL_TRACKER_SEEDS", "1"))
FIRST_SEED = int(os.environ.get("TIDEWHEEL_TRACKER_FIRST_SEED", "1"))
KILLS = int(os.environ.get("TIDEWHEEL_TRACKER_KILLS", "20"))
# TensorBoard's own reader says which steps it shows.
SHOWN = """
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
board = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
board.Reload()
print(json.dumps([event.step for event in board.Scalars("loss")]))
"""


def host(folder: Path, checkpoints: Path, attempt: int, program: str) -> Path:
    """A new host: what was in the last one's checkpoint folder is all that is left of it."""
    source = folder.parent / "source"
    source.mkdir(exist_ok=True)
    (source / "train.py").write_text(program)
    parameters = {
        "sagemaker_program": "train.py",
        "sagemaker_job_name": f"tracked-000001-a{attempt}-0a1b2c",
        "tidewheel_run_id": "tracked-000001",
        "tidewheel_strategy": "single",
    }
    base = make_host(folder, source=source, hyperparameters=parameters)
    (base / "checkpoints").rmdir()
    checkpoints.rename(base / "checkpoints")
    return base


def newest_step(log: str) -> int:
    return max((int(step) for step in re.findall(r"tidewheel step=(\d+) ", log)), default=0)


def lose(cluster: Cluster, base: Path) -> None:
    script = script_pid(base)
    if script is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(script, signal.SIGKILL)
    cluster.lose_host(0)


def train_and_kill(base: Path, python: Path, steps: int, chance: random.Random | None) -> int:
    """The exit code. Kills every process of the host some steps after the script's first."""
    environment = {"AGENT_PYTHON": str(python), "TRACKED_STEPS": str(steps)}
    environment["LD_LIBRARY_PATH"] = str(TRAINING.parent / ".venv" / "lib")
    with running([base], **environment) as cluster:
        if chance is not None:
            more, pause = chance.randrange(1, 13), chance.random() * 0.02
            first = 0
            while cluster.agents[0].poll() is None:
                newest = newest_step(cluster.log())
                first = first or newest
                if newest and newest >= first + more:
                    time.sleep(pause)
                    lose(cluster, base)
                    break
                time.sleep(0.002)
        return cluster.wait(300)[0]


def steps_in_mlflow(trackers: Path) -> dict[str, list[int]]:
    found = (trackers / "mlruns").glob("*/*/metrics/loss")
    return {
        path.parent.parent.name: [int(line.split()[2]) for line in path.read_text().splitlines()]
        for path in found
    }


def steps_in_wandb(trackers: Path) -> dict[str, list[int]]:
    steps: dict[str, list[int]] = {}
    for path in sorted(trackers.glob("wandb/offline-run-*/run-*.wandb")):
        rows = WandbFile(path).read()
        steps.setdefault(path.stem, []).extend(int(row.position) for row in rows)
    return steps


def train_interrupted(work: Path, python: Path, program: str, seed: int, most: int) -> None:
    """Checks the trackers of a training of 12 steps for each of `most` kills."""
    chance = random.Random(seed)
    steps = 12 * most
    checkpoints = work / "checkpoints"
    checkpoints.mkdir()
    attempt, code, kills = 0, -9, 0
    while code != 0:
        attempt += 1
        base = host(work / f"host-{attempt}", checkpoints, attempt, program)
        code = train_and_kill(base, python, steps, chance if attempt <= most else None)
        log = (base / "log").read_text(errors="replace")
        assert code in (0, -9), log
        kills += code == -9
        checkpoints = base / "checkpoints"
    trackers = checkpoints / "tidewheel-trackers"
    every = list(range(1, steps + 1))
    shown = subprocess.run(
        [str(python), "-c", SHOWN, str(trackers / "tensorboard")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(shown.stdout) == every, f"TensorBoard after {kills} kills"
    mlflow = steps_in_mlflow(trackers)
    assert list(mlflow.values()) == [every], f"MLflow after {kills} kills"
    wandb = steps_in_wandb(trackers)
    assert wandb == {"run-tracked-000001-0a1b2c": every}, f"W&B after {kills} kills"
    print(f"seed {seed}: {kills} kills, {steps} steps once each in all three trackers")
    assert kills >= most // 2


@pytest.fixture(scope="module")
def warm() -> Iterator[WarmPython]:
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    modules = ("torch.utils.tensorboard", "mlflow", "wandb", "wandb.proto.wandb_internal_pb2")
    try:
        with warm_python(python_over_torch("trackers"), modules, folder) as python:
            yield python
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_each_tracker_has_one_run_with_each_step_once(
    tmp_path: Path, warm: WarmPython, seed: int
) -> None:
    train_interrupted(tmp_path, python_over_torch("trackers"), warm.stub(SCRIPT), seed, KILLS)


def test_trackers_are_whole_with_a_python_for_each_start(tmp_path: Path) -> None:
    train_interrupted(tmp_path, python_over_torch("trackers"), SCRIPT.read_text(), 0, 4)
