"""The recipes to measure, each just large enough to show its strategy."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from digits import write_digits
from hosts import TRAINING, Attempt, JobOnThisMachine
from interrupted import Recipe

RECIPES = TRAINING / "recipes"
ONE = ("127.0.0.2",)
TWO = (*ONE, "127.0.0.3")
THREE = (*TWO, "127.0.0.4")


@dataclass(frozen=True)
class Entry:
    """`environment`: empty for the project's own, else that of the folder .venv-<environment>."""

    name: str
    environment: str
    make: Callable[[Path, Path], Recipe]
    """Makes the recipe from an interpreter and a folder for data."""


def click_data(folder: Path) -> Path:
    """Click records, which the first call makes."""
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


def _deepfm(
    job: JobOnThisMachine,
    world_size: int,
    name: str = "deepfm",
    **more: Any,  # noqa: ANN401
) -> Recipe:
    """Unless it has a tolerance, an interrupted run must end with the same bits."""
    return Recipe(
        name=name,
        job=job,
        world_size=world_size,
        metric="auc",
        model="model.npz",
        least=0.6,
        interrupt_from=16,
        total=128,
        **more,
    )


def _parameter_server(python: Path, data: Path) -> Recipe:
    job = deepfm("parameter-server", "train_tensorflow.py", python, data)
    return _deepfm(job, world_size=2, tolerance=0.03)


def _mirrored(python: Path, data: Path) -> Recipe:
    return _deepfm(deepfm("multi-worker-mirrored", "train_tensorflow.py", python, data), 2)


def _single_tensorflow(python: Path, data: Path) -> Recipe:
    """MirroredStrategy on one host with two logical devices of its CPU."""
    job = deepfm("single", "train_tensorflow.py", python, data, devices=2)
    return _deepfm(replace(job, hosts=ONE), 2, "deepfm, TensorFlow")


def _mpi_ranks(name: str, program: str, **more: object) -> Callable[[Path, Path], Recipe]:
    def make(python: Path, data: Path) -> Recipe:
        job = deepfm("mpi", program, python, data, tidewheel_processes_per_host=2, **more)
        return _deepfm(job, 4, name)

    return make


def _mpi_pipe(python: Path, data: Path) -> Recipe:
    """Reads from one Pipe per local rank instead of files."""
    recipe = _mpi_ranks("deepfm, Pipe", "train_mpi.py", steps=128)(python, data)
    return replace(recipe, job=replace(recipe.job, pipes=2))


def digit_data(folder: Path) -> Path:
    """The project's digits as the packer writes them."""
    target = folder / "digits"
    if not target.exists():
        write_digits(target, shards=4)
    return target


def _ray(python: Path, data: Path, trainer: str = "torch", training_hosts: int = 1) -> Recipe:
    """The last host prepares, the others train."""
    hosts = THREE[: training_hosts + 1]
    return Recipe(
        name="ray, vit" if trainer == "torch" else "ray, vit, no trainer",
        job=JobOnThisMachine(
            strategy="ray",
            source=RECIPES / "ray",
            program="train.py",
            data=digit_data(data),
            python=python,
            hosts=hosts,
            groups={"train": hosts[:-1], "helpers": hosts[-1:]},
            hyperparameters={"trainer": trainer, "epochs": 16, "pause": 0.01},
            # Ray ends workers where other programs fill the machine's memory.
            environment={"RAY_memory_monitor_refresh_ms": "0"},
        ),
        world_size=training_hosts,
        metric="accuracy",
        model="model.pt",
        least=0.7,
        interrupt_from=10,
        total=352,
        check=_was_prepared_on_helpers,
        # It takes minutes on an idle machine; on a busy one Ray's ten processes take long.
        limit_seconds=900.0,
    )


def _was_prepared_on_helpers(attempt: Attempt) -> str:
    """Checks that the helper prepared everything: the other hosts train on their only CPU."""
    metrics = json.loads((attempt.leader / "model" / "metrics.json").read_text())
    hosts = set(metrics["preparedOn"])
    helpers = set(attempt.job.hosts[-1:])
    return "" if hosts == helpers else f"the data was prepared on {sorted(hosts)}"


def _data_service(python: Path, data: Path) -> Recipe:
    job = deepfm("data-service", "train_tensorflow.py", python, data)
    groups = {"train": THREE[:1], "helpers": THREE[1:]}
    job = replace(job, hosts=THREE, groups=groups)
    return _deepfm(job, world_size=1, tolerance=0.03, check=_was_served_by_helpers)


def _was_served_by_helpers(attempt: Attempt) -> str:
    """Checks the logs: the host that prepares data prints a line about it."""
    logs = {base.name: (base / "log").read_text(errors="replace") for base in attempt.bases}
    seen = {host for host, log in logs.items() if "prepared here" in log}
    return "" if seen and THREE[0] not in seen else f"the data was prepared on {sorted(seen)}"


def _images_ddp(recipe: str, python: Path, data: Path, epochs: int) -> Recipe:
    return Recipe(
        name=recipe,
        job=JobOnThisMachine(
            strategy="ddp",
            source=RECIPES / recipe,
            program="train.py",
            data=digit_data(data),
            python=python,
            hosts=TWO,
            hyperparameters={"epochs": epochs, "checkpoint_steps": 10},
        ),
        world_size=2,
        metric="accuracy",
        model="model.pt",
        least=0.8,
        interrupt_from=10,
        total=22 * epochs,
    )


def _single(python: Path, data: Path) -> Recipe:
    """One host with two devices and a loader process for each."""
    recipe = _images_ddp("ddp", python, data, 6)
    job = replace(
        recipe.job,
        strategy="single",
        hosts=ONE,
        hyperparameters={**recipe.job.hyperparameters, "devices": 2},
        environment={"TIDEWHEEL_CPUS": "4"},
    )
    return replace(recipe, job=job, check=_read_ahead)


def _read_ahead(attempt: Attempt) -> str:
    expected = "2 ranks, 1 loader workers each"
    return "" if expected in attempt.logs(10_000) else f"the log does not hold {expected!r}"


def text_data(folder: Path) -> Path:
    """Text, which the first call makes."""
    target = folder / "text"
    if not target.exists():
        make = str(RECIPES / "lm" / "make_text.py")
        subprocess.run([sys.executable, make, str(target), "--stories", "200"], check=True)
    return target


def _lm(python: Path, data: Path) -> Recipe:
    return Recipe(
        name="lm",
        job=JobOnThisMachine(
            strategy="ddp",
            source=RECIPES / "lm",
            program="train.py",
            data=text_data(data),
            python=python,
            hosts=TWO,
            hyperparameters={"epochs": 3, "checkpoint_steps": 10, "micro_batch": 8},
        ),
        world_size=2,
        metric="accuracy",
        model="model.pt",
        least=0.6,
        interrupt_from=10,
        total=90,
    )


def _lm_sharded(python: Path, data: Path) -> Recipe:
    recipe = _lm(python, data)
    settings = {**recipe.job.hyperparameters, "sharding": "full"}
    return replace(recipe, name="lm, sharded", job=replace(recipe.job, hyperparameters=settings))


CATALOGUE = (
    Entry("single", "", _single),
    Entry("ddp", "", partial(_images_ddp, "ddp", epochs=6)),
    Entry("lm", "", _lm),
    Entry("lm-sharded", "", _lm_sharded),
    Entry("mpi", "", _mpi_ranks("deepfm", "train_mpi.py")),
    Entry("mpi-pipe", "", _mpi_pipe),
    Entry("vit", "ray", partial(_images_ddp, "vit", epochs=20)),
    Entry("ray", "ray", _ray),
    Entry("ray-two", "ray", partial(_ray, training_hosts=2)),
    Entry("ray-data", "ray", partial(_ray, trainer="none")),
    Entry("single-tensorflow", "tf", _single_tensorflow),
    Entry("data-service", "tf", _data_service),
    Entry("parameter-server", "tf", _parameter_server),
    Entry("multi-worker-mirrored", "tf", _mirrored),
    Entry("mpi-tensorflow", "tf", _mpi_ranks("deepfm, TensorFlow", "train_tensorflow.py")),
    Entry("horovod", "horovod", _mpi_ranks("deepfm, Horovod", "train_horovod.py")),
)
