"""DeepFM in bfloat16 and with chosen ways to sum gradients.

Minutes, in the recipes' own environments: `pytest -m heavy tests/recipes/test_deepfm_settings.py`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from catalogue import RECIPES
from heavy import python_of, recipe_of, undisturbed
from hosts import Attempt
from interrupted import Recipe, measure

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]
CHOOSE = """
import json, sys
from mirrored import mirrored_strategy
strategy = mirrored_strategy(sys.argv[1], int(sys.argv[2]))
print(json.dumps(type(strategy.extended._cross_device_ops).__name__))
"""


def with_settings(recipe: Recipe, **settings: object) -> Recipe:
    parameters = {**recipe.job.hyperparameters, **settings}
    return replace(recipe, job=replace(recipe.job, hyperparameters=parameters))


def weights_of(leader: Path) -> dict[str, npt.NDArray[np.float32]]:
    with np.load(leader / "model" / "model.npz") as arrays:
        return dict(arrays)


def auc_of(leader: Path) -> float:
    return float(json.loads((leader / "model" / "metrics.json").read_text())["auc"])


def choose(cross_device_ops: str, workers: int) -> subprocess.CompletedProcess[str]:
    python = python_of("tf", "single-tensorflow")
    environment = {**os.environ, "PYTHONPATH": str(RECIPES / "deepfm")}
    command = [str(python), "-c", CHOOSE, cross_device_ops, str(workers)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["single-tensorflow", "multi-worker-mirrored", "mpi", "horovod"])
def test_bfloat16_resumes_exactly_and_learns_as_well(name: str, work: Path, tmp_path: Path) -> None:
    recipe = recipe_of(name, work)
    result = measure(with_settings(recipe, precision="bfloat16"), tmp_path, seed=3)
    assert result.is_within, result
    whole = undisturbed(name, work)
    assert abs(result.undisturbed - auc_of(whole)) < 0.01
    mixed = weights_of(tmp_path / "undisturbed" / whole.name)
    for weight, learned in weights_of(whole).items():
        assert mixed[weight].dtype == np.float32
        assert not np.array_equal(mixed[weight], learned), f"{weight} was computed in float32"


def holds_balanced_parts(attempt: Attempt) -> str:
    """Checks the chief's log: the smaller server holds at least half of the larger one's bytes."""
    found = re.search(r"servers that hold (\d+) B, (\d+) B", attempt.logs(10_000))
    if found is None:
        return "the log does not say what the parameter servers hold"
    smaller, larger = sorted(int(size) for size in found.groups())
    return "" if smaller * 2 >= larger else f"the parameter servers hold {smaller} and {larger} B"


def test_asynchronous_workers_learn_in_bfloat16(work: Path, tmp_path: Path) -> None:
    recipe = with_settings(recipe_of("parameter-server", work), precision="bfloat16")
    result = measure(replace(recipe, check=holds_balanced_parts), tmp_path, seed=3)
    assert result.is_within, result


@pytest.mark.parametrize(
    ("cross_device_ops", "used"),
    [
        ("hierarchical-copy", "HierarchicalCopyAllReduce"),
        ("reduction-to-one-device", "ReductionToOneDevice"),
    ],
)
def test_the_chosen_sum_reaches_tensorflow(cross_device_ops: str, used: str) -> None:
    found = choose(cross_device_ops, 1)
    assert found.stdout.strip() == json.dumps(used), found.stderr


@pytest.mark.parametrize(
    ("cross_device_ops", "workers", "message"),
    [
        ("ring", 1, "cross_device_ops=ring: on one host choose one of auto, nccl"),
        ("hierarchical-copy", 2, "on 2 hosts choose one of auto, nccl, ring"),
        ("nccl", 1, "cross_device_ops=nccl needs GPUs"),
        ("nccl", 2, "cross_device_ops=nccl needs GPUs"),
    ],
)
def test_a_sum_that_cannot_be_is_refused(cross_device_ops: str, workers: int, message: str) -> None:
    found = choose(cross_device_ops, workers)
    assert found.returncode == 1
    assert message in found.stderr
