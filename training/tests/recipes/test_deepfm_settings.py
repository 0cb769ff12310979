"""DeepFM in 16 bits, on several devices of a worker, and with chosen ways to sum gradients.

Minutes, in the recipes' own environments: `pytest -m heavy tests/recipes/test_deepfm_settings.py`.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from catalogue import RECIPES, click_data
from heavy import python_of, recipe_of, undisturbed
from hosts import TRAINING, Attempt
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


@pytest.mark.parametrize(
    ("name", "precision"),
    [
        *((name, "bfloat16") for name in ("single-tensorflow", "multi-worker-mirrored")),
        *((name, "bfloat16") for name in ("mpi", "horovod")),
        # Horovod's PyTorch has no float16 on CPUs.
        *((name, "float16") for name in ("multi-worker-mirrored", "mpi", "mpi-tensorflow")),
    ],
)
def test_16_bits_resume_exactly_and_learn_as_well(
    name: str, precision: str, work: Path, tmp_path: Path
) -> None:
    recipe = recipe_of(name, work)
    result = measure(with_settings(recipe, precision=precision), tmp_path, seed=3)
    assert result.is_within, result
    whole = undisturbed(name, work)
    assert abs(result.undisturbed - auc_of(whole)) < 0.01
    mixed = weights_of(tmp_path / "undisturbed" / whole.name)
    for weight, learned in weights_of(whole).items():
        assert mixed[weight].dtype == np.float32
        assert not np.array_equal(mixed[weight], learned), f"{weight} was computed in float32"


PROGRAM = """
import sys
import loss_scale
loss_scale._FIRST = 2.0**40
if sys.argv[1] == "2 devices":
    # Two devices of the CPU stand in for the GPUs of a worker.
    from tensorflow.python.distribute import parameter_server_strategy_v2 as servers
    extended = servers.ParameterServerStrategyV2Extended
    extended._set_num_gpus = lambda self: setattr(self, "_num_gpus_per_worker", 2)
    names = ("/device:CPU:0", "/device:CPU:1")
    extended.worker_devices = property(lambda self: names)
sys.argv.pop(1)
__import__(sys.argv.pop(1)).main()
"""


def started(
    environment: str, program: str, work: Path, *settings: str, devices: str = "", **more: str
) -> subprocess.Popen[str]:
    """A process of the recipe whose first loss scale is far too large."""
    python = python_of(environment, "single-tensorflow") if environment else Path(sys.executable)
    folders = {"SM_CHANNEL_TRAIN": click_data(work / "data"), "SM_MODEL_DIR": work / "model"}
    folders["TIDEWHEEL_CHECKPOINT_DIR"] = work / "checkpoints"
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join(map(str, (RECIPES / "deepfm", TRAINING / "agent" / "for_scripts")))
    own = {name: str(folder) for name, folder in folders.items()}
    command = [str(python), "-c", PROGRAM, devices, program, "--epochs", "1", *settings]
    return subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": path, **own, **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.parametrize(
    ("environment", "program", "devices"),
    [("", "train_mpi", "1"), ("tf", "train_tensorflow", "2")],
)
def test_steps_that_overflow_are_left_out(
    environment: str, program: str, devices: str, tmp_path: Path
) -> None:
    settings = ["--precision", "float16", *(["--devices", devices] if environment else [])]
    process = started(environment, program, tmp_path, *settings)
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    newest = max((tmp_path / "checkpoints").glob("step-*/state.bin"))
    with np.load(newest) as arrays:
        factor, steps = arrays["scale/loss"]
        assert 1 < factor < 2.0**40
        assert steps > 10
        assert all(np.isfinite(arrays[name]).all() for name in arrays)
    with np.load(tmp_path / "model" / "model.npz") as weights:
        assert "scale/loss" not in weights


def trained_by_servers(work: Path, devices: str) -> tuple[str, dict[str, Any]]:
    """Output and model of one worker and two parameter servers, each a process."""
    tasks = [("ps", 0), ("ps", 1), ("worker", 0), ("chief", 0)]
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in tasks]
    cluster: dict[str, list[str]] = {}
    for (kind, _), each in zip(tasks, sockets, strict=True):
        cluster.setdefault(kind, []).append(f"127.0.0.1:{each.getsockname()[1]}")
        each.close()
    processes = [
        started(
            "tf",
            "train_tensorflow",
            work,
            "--devices",
            "2",
            devices=devices,
            TF_CONFIG=json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}}),
        )
        for kind, index in tasks
    ]
    *others, chief = processes
    try:
        output, _ = chief.communicate(timeout=600)
    finally:
        for process in others:
            process.kill()
            process.communicate()
    assert chief.returncode == 0, output
    return output, weights_of(work)


def test_two_devices_of_a_worker_learn_what_one_would(tmp_path: Path) -> None:
    said_one, one = trained_by_servers(tmp_path / "one", "")
    said_two, two = trained_by_servers(tmp_path / "two", "2 devices")
    assert "1 workers of 1 devices, 64 samples each" in said_one
    assert "1 workers of 2 devices, 32 samples each" in said_two
    for name, learned in one.items():
        np.testing.assert_allclose(two[name], learned, rtol=1e-4, atol=1e-6, err_msg=name)


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
