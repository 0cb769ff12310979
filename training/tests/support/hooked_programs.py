"""Python programs with the evidence's hooks on their path."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from hosts import TRAINING
from tidewheel_agent.evidence.cells import ProcessCounts, read_counts

HOOKS = TRAINING / "instrument"


def hooked(folder: Path, *arguments: str, before: str = "") -> str:
    """The output of a Python program with the hooks on its path. `before` runs at its start."""
    path = [str(HOOKS)]
    if before:
        own = folder.parent / "own"
        own.mkdir()
        (own / "sitecustomize.py").write_text(before)
        path.append(str(own))
    folder.mkdir()
    environment = {"PYTHONPATH": os.pathsep.join(path), "TIDEWHEEL_INSTRUMENT_DIR": str(folder)}
    return output(*arguments, environment=environment)


def output(*arguments: str, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def trainers(folder: Path) -> list[ProcessCounts]:
    return [each for each in read_counts(folder, time.monotonic()) if each.is_trainer]
