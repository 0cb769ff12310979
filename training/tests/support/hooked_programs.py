"""Python programs with the evidence's hooks on their path."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from hosts import TRAINING
from tidewheel_agent.evidence.cells import ProcessCounts, read_counts
from warm_python import warm_torch

HOOKS = [str(TRAINING / name) for name in ("agent/for_scripts", "instrument")]


def hooked(folder: Path, *arguments: str, before: str = "", is_cold: bool = False) -> str:
    """The output of a Python program with the hooks on its path. `before` runs at its start."""
    path = [*HOOKS]
    if before:
        own = folder.parent / "own"
        own.mkdir()
        (own / "sitecustomize.py").write_text(before)
        path.append(str(own))
    folder.mkdir()
    environment = {"PYTHONPATH": os.pathsep.join(path), "TIDEWHEEL_INSTRUMENT_DIR": str(folder)}
    return output(*arguments, environment=environment, is_cold=is_cold)


def output(
    *arguments: str,
    environment: dict[str, str] | None = None,
    cwd: Path | None = None,
    is_cold: bool = False,
) -> str:
    """Programs share the import of PyTorch, unless `is_cold`, or if they are modules (`-m`)."""
    variables = {**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})}
    if is_cold or arguments[0] == "-m":
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=cwd,
            env=variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    else:
        done = warm_torch().run(*arguments, cwd=cwd, env=variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


def trainers(folder: Path) -> list[ProcessCounts]:
    return [each for each in read_counts(folder, time.monotonic()) if each.is_trainer]
