"""The hooks beside those of automatic checkpoints, in one script that knows of neither."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from hosts import TRAINING
from tidewheel_agent.evidence.cells import read_counts, removed_hook
from warm_python import warm_torch

pytestmark = pytest.mark.slow
HOOKS = [TRAINING / name for name in ("automatic", "instrument", "agent/for_scripts")]
SCRIPT = TRAINING / "tests" / "automatic" / "scripts" / "epochs_script.py"


def run(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """The script with both hooks, in the order of the agent."""
    (folder / "cells").mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, HOOKS)),
        "OMP_NUM_THREADS": "1",
        "TIDEWHEEL_AUTOMATIC_DIR": str(folder / "checkpoints"),
        "TIDEWHEEL_INSTRUMENT_DIR": str(folder / "cells"),
        **variables,
    }
    ended = warm_torch().run(str(SCRIPT), cwd=folder, env=environment)
    assert ended.returncode == 0, ended.stderr
    return ended


def steps_of(folder: Path) -> int:
    assert removed_hook(folder / "cells") is None
    (trainer,) = [
        each for each in read_counts(folder / "cells", time.monotonic()) if each.is_trainer
    ]
    return trainer.steps


def test_a_measured_script_resumes_to_the_same_weights(tmp_path: Path) -> None:
    whole, other = tmp_path / "whole", tmp_path / "other"
    expected = run(whole, TIDEWHEEL_AUTOMATIC_STEPS="5").stdout.splitlines()
    steps = steps_of(whole)
    assert steps == 24

    first = min(path.name for path in (whole / "checkpoints").glob("step-*"))
    shutil.copytree(whole / "checkpoints" / first, other / "checkpoints" / first)
    resumed = run(other)
    assert resumed.stdout.splitlines()[-1] == expected[-1]
    assert f"restored after step {int(first[5:])}: training goes on" in resumed.stderr
    # What the replay passes over is no step of this attempt.
    assert steps_of(other) == steps - int(first[5:])
