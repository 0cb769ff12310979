"""The recipes that are measured, each as small as it can be and still show its strategy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hosts import TRAINING, JobOnThisMachine
from interrupted import Recipe

RECIPES = TRAINING / "recipes"
TWO = ("127.0.0.2", "127.0.0.3")
THREE = (*TWO, "127.0.0.4")
GPU_AND_CPU = {"train": TWO[:1], "helpers": TWO[1:]}


@dataclass(frozen=True)
class Entry:
    """`environment`: "" for the project's own, else the folder .venv-<name>."""

    name: str
    environment: str
    make: Callable[[Path, Path], Recipe]
    """From the interpreter and a folder for data."""


def click_data(folder: Path) -> Path:
    """Made once a folder."""
    target = folder / "clicks"
    if not target.exists():
        make = str(RECIPES / "deepfm" / "make_data.py")
        command = [sys.executable, make, str(target), "--shards", "5", "--records", "1024"]
        subprocess.run(command, check=True)
    return target


def deepfm(
    strategy: str, program: str, python: Path, data: Path, **more: object
) -> JobOnThisMachine:
    return JobOnThisMachine(
        strategy=strategy,
        source=RECIPES / "deepfm",
        program=program,
        data=click_data(data),
        python=python,
        hosts=TWO,
        hyperparameters={"epochs": 2, "checkpoint_steps": 8, "pause": 0.02, **more},
    )


def _parameter_server(python: Path, data: Path) -> Recipe:
    return Recipe(
        name="deepfm",
        job=deepfm("parameter-server", "train_tensorflow.py", python, data),
        world_size=2,
        metric="auc",
        model="model.npz",
        tolerance=0.03,
        least=0.6,
        interrupt_from=16,
        total=128,
    )


def _mirrored(python: Path, data: Path) -> Recipe:
    return Recipe(
        name="deepfm",
        job=deepfm("multi-worker-mirrored", "train_tensorflow.py", python, data),
        world_size=2,
        metric="auc",
        model="model.npz",
        least=0.6,
        interrupt_from=16,
        total=128,
    )


def _mpi(python: Path, data: Path) -> Recipe:
    return Recipe(
        name="deepfm",
        job=deepfm("mpi", "train_mpi.py", python, data, tidewheel_processes_per_host=2),
        world_size=4,
        metric="auc",
        model="model.npz",
        least=0.6,
        interrupt_from=16,
        total=128,
    )


CATALOGUE = (
    Entry("mpi", "", _mpi),
    Entry("parameter-server", "tf", _parameter_server),
    Entry("multi-worker-mirrored", "tf", _mirrored),
)
