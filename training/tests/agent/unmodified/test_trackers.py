"""A script that logs to W&B, MLflow and TensorBoard, killed again and again, is one run there.

`pytest -m heavy tests/agent/unmodified/test_trackers.py` makes an environment of the trackers'
packages. TIDEWHEEL_TRACKER_SEEDS (1) and TIDEWHEEL_TRACKER_KILLS (20) say how often.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import time
from pathlib import Path

import pytest

from cluster import running
from heavy import python_over_torch
from hosts import TRAINING
from sagemaker_host import make_host
from tidewheel_agent.series.wandb_file import WandbFile

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(7200)]

SCRIPT = Path(__file__).with_name("tracked_script.py")
SEEDS = int(os.environ.get("TIDEWHEEL_TRACKER_SEEDS", "1"))
KILLS = int(os.environ.get("TIDEWHEEL_TRACKER_KILLS", "20"))
STEPS = 12 * KILLS
WANDB_SECONDS = 2.0
"""W&B's process writes every 0.02 s, as the agent asks it to; a busy machine lets it wait."""
# TensorBoard's own reader says which steps it shows.
SHOWN = """
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
board = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
board.Reload()
print(json.dumps([event.step for event in board.Scalars("loss")]))
"""


def host(folder: Path, checkpoints: Path, attempt: int) -> Path:
    """A new host: what was in the last one's checkpoint folder is all that is left of it."""
    source = folder.parent / "source"
    source.mkdir(exist_ok=True)
    (source / "train.py").write_text(SCRIPT.read_text())
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
    return max(times_of_steps(log), default=0)


def times_of_steps(log: str) -> dict[int, float]:
    found = re.findall(r"tidewheel step=(\d+) .* at=(\S+)\n", log)
    return {int(step): float(at) for step, at in found}


def train_and_kill(base: Path, python: Path, chance: random.Random | None) -> tuple[int, set[int]]:
    """The exit code, and the steps that W&B's process had no time to write.

    Kills every process of the host some steps after the script's first.
    """
    killed_at = float("inf")
    environment = {"AGENT_PYTHON": str(python), "TRACKED_STEPS": str(STEPS)}
    environment["LD_LIBRARY_PATH"] = str(TRAINING.parent / ".venv" / "lib")
    with running([base], **environment) as cluster:
        if chance is not None:
            more = chance.randrange(1, 13)
            first = 0
            while cluster.agents[0].poll() is None:
                newest = newest_step(cluster.log())
                first = first or newest
                if newest and newest >= first + more:
                    time.sleep(chance.random() * 0.02)
                    killed_at = time.time()
                    cluster.lose_host(0)
                    break
                time.sleep(0.005)
        code = cluster.wait(300)[0]
        times = times_of_steps(cluster.log())
        # The script saves a step before it prints it.
        times[newest_step(cluster.log()) + 1] = killed_at
        return code, {step for step, at in times.items() if at > killed_at - WANDB_SECONDS}


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


@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
def test_each_tracker_has_one_run_with_each_step_once(tmp_path: Path, seed: int) -> None:
    python = python_over_torch("trackers")
    chance = random.Random(seed)
    checkpoints = tmp_path / "checkpoints"
    checkpoints.mkdir()
    attempt, code, kills = 0, -9, 0
    late: set[int] = set()
    while code != 0:
        attempt += 1
        base = host(tmp_path / f"host-{attempt}", checkpoints, attempt)
        code, steps = train_and_kill(base, python, chance if attempt <= KILLS else None)
        late |= steps
        log = (base / "log").read_text(errors="replace")
        assert code in (0, -9), log
        kills += code == -9
        checkpoints = base / "checkpoints"
    trackers = checkpoints / "tidewheel-trackers"
    every = list(range(1, STEPS + 1))
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
    assert list(wandb) == ["run-tracked-000001-0a1b2c"]
    (steps_there,) = wandb.values()
    assert steps_there == sorted(set(steps_there)), f"W&B after {kills} kills"
    lacking = set(every) - set(steps_there)
    print(f"seed {seed}: {kills} kills, W&B lacks {len(lacking)} of {STEPS} steps")
    assert lacking <= late, f"W&B after {kills} kills"
    assert kills >= KILLS // 2
