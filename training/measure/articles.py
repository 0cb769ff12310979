"""`articles.py NAME --python INTERPRETER [--steps 30] [--side 56]`: one workload of an article,
small, for some steps on this machine; prints one JSON line."""

from __future__ import annotations

import argparse
import io
import json
import random
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from catalogue import ONE, RECIPES, THREE, TWO, deepfm, digit_data
from hosts import CHECKPOINTS, Attempt, JobOnThisMachine

_LIMIT_SECONDS = 900.0


@dataclass(frozen=True)
class Size:
    """What of a workload shrinks, beside its model. The articles' own: 224, 64 and 1,000 steps."""

    side: int
    batch: int
    steps: int


@dataclass(frozen=True)
class Workload:
    """`environment`: as in the catalogue of recipes."""

    name: str
    environment: str
    make: Callable[[Path, Path, Size], JobOnThisMachine]
    """Makes the job from an interpreter and a folder for data."""
    least_steps: int = 1
    """Fewer tell no rate."""


_BLURS = 10
_PHOTOGRAPHS = 400
_SHORT_STEPS = 100
"""Their steps take milliseconds, and the first ones far longer."""


def _images(
    recipe: str, strategy: str, hosts: tuple[str, ...], python: Path, data: Path, size: Size
) -> JobOnThisMachine:
    return JobOnThisMachine(
        strategy=strategy,
        source=RECIPES / recipe,
        program="train.py",
        data=digit_data(data),
        python=python,
        hosts=hosts,
        hyperparameters={
            "epochs": 1_000,
            "batch_size": size.batch,
            "side": size.side,
            "patch": max(1, size.side // 14),
            "checkpoint_steps": 1_000_000,
        },
    )


def _vit(precision: str) -> Callable[..., JobOnThisMachine]:
    def make(python: Path, data: Path, size: Size) -> JobOnThisMachine:
        job = _images("vit", "ddp", TWO, python, data, size)
        return replace(job, hyperparameters={**job.hyperparameters, "precision": precision})

    return make


def _ray_blurs(helpers: tuple[str, ...]) -> Callable[..., JobOnThisMachine]:
    """One host trains, and Ray prepares on its spare CPU and on the helpers."""

    def make(python: Path, data: Path, size: Size) -> JobOnThisMachine:
        job = _images("ray", "ray", ONE + helpers, python, data, size)
        return replace(
            job,
            groups={"train": ONE, **({"helpers": helpers} if helpers else {})},
            hyperparameters={**job.hyperparameters, "blurs": _BLURS},
            environment={"TIDEWHEEL_CPUS": "2"},
        )

    return make


def _photographs(prepared: bool) -> Callable[..., JobOnThisMachine]:
    """Resized each time that they are read, or once before. One loader worker reads ahead."""

    def make(python: Path, data: Path, size: Size) -> JobOnThisMachine:
        folder = data / "photographs"
        write_photographs(folder, count=_PHOTOGRAPHS, side=size.side if prepared else 0)
        job = _images("ddp", "single", ONE, python, data, size)
        settings = {name: of for name, of in job.hyperparameters.items() if name != "patch"}
        return replace(
            job,
            data=folder,
            hyperparameters={
                **settings,
                "cache_megabytes": 0,
                "holdout_percent": 5,
                "side": 0 if prepared else size.side,
            },
            environment={"TIDEWHEEL_CPUS": "2"},
        )

    return make


def _deepfm(strategy: str, program: str, **more: object) -> Callable[..., JobOnThisMachine]:
    def make(python: Path, data: Path, size: Size) -> JobOnThisMachine:
        settings = {"batch_size": size.batch, "epochs": 1_000, "checkpoint_steps": 1_000_000}
        return deepfm(strategy, program, python, data, pause=0.0, **settings, **more)

    return make


def _on_one_host(make: Callable[..., JobOnThisMachine]) -> Callable[..., JobOnThisMachine]:
    return lambda python, data, size: replace(make(python, data, size), hosts=ONE)


WORKLOADS = (
    Workload("ray-blurs", "ray", _ray_blurs(THREE[1:])),
    Workload("ray-blurs-alone", "ray", _ray_blurs(())),
    Workload("photographs", "", _photographs(prepared=False)),
    Workload("photographs-prepared", "", _photographs(prepared=True)),
    Workload("vit-bfloat16", "ray", _vit("bfloat16")),
    Workload("vit-float32", "ray", _vit("float32")),
    Workload(
        "deepfm-parameter-server",
        "tf",
        _deepfm("parameter-server", "train_tensorflow.py"),
        _SHORT_STEPS,
    ),
    Workload(
        "deepfm-mirrored",
        "tf",
        _on_one_host(_deepfm("single", "train_tensorflow.py", devices=2)),
        _SHORT_STEPS,
    ),
    Workload(
        "deepfm-multi-worker-mirrored",
        "tf",
        _deepfm("multi-worker-mirrored", "train_tensorflow.py"),
        _SHORT_STEPS,
    ),
    Workload(
        "deepfm-mpi",
        "tf",
        _deepfm("mpi", "train_tensorflow.py", tidewheel_processes_per_host=2),
        _SHORT_STEPS,
    ),
    Workload(
        "deepfm-horovod",
        "horovod",
        _deepfm("mpi", "train_horovod.py", tidewheel_processes_per_host=2),
        _SHORT_STEPS,
    ),
)


class WorkloadError(Exception):
    """A host failed; the message holds the ends of the logs."""


def measure(job: JobOnThisMachine, root: Path, size: Size) -> dict[str, Any]:
    """Steps and the mean step of the slowest host, without the first fifth."""
    limit = json.dumps({"steps": size.steps})
    attempt = Attempt(
        root, replace(job, hyperparameters={**job.hyperparameters, "tidewheel_script": limit})
    )
    try:
        attempt.start()
        codes = attempt.wait(_LIMIT_SECONDS)
        if any(code != 0 for code in codes):
            raise WorkloadError(f"exit codes {codes}\n{attempt.logs()}")
        found = [
            json.loads(path.read_text())
            for base in attempt.bases
            for path in (base / CHECKPOINTS / "tidewheel-evidence").glob("*-steps.json")
        ]
        if not found:
            raise WorkloadError(f"no host measured a step\n{attempt.logs()}")
        step = max(_mean(each) for each in found)
        return {
            "strategy": job.strategy,
            "hosts": len(job.hosts),
            "steps": min(each["steps"] for each in found),
            "step_seconds": round(step, 5),
            "samples_per_second": round(size.batch / step, 1),
        }
    finally:
        attempt.close()


def _mean(blocks: dict[str, Any]) -> float:
    pairs = list(zip(blocks["blockSeconds"], blocks["blockSteps"], strict=True))
    return float(sum(seconds * steps for seconds, steps in pairs) / sum(s for _, s in pairs))


def main() -> int:
    parser = argparse.ArgumentParser(prog="articles", allow_abbrev=False)
    parser.add_argument("name", nargs="?", choices=[each.name for each in WORKLOADS])
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--side", type=int, default=56)
    parser.add_argument("--batch", type=int, default=16)
    arguments = parser.parse_args()
    if arguments.name is None:
        print(
            json.dumps(
                [
                    {"name": w.name, "environment": w.environment, "least_steps": w.least_steps}
                    for w in WORKLOADS
                ]
            )
        )
        return 0
    workload = next(each for each in WORKLOADS if each.name == arguments.name)
    if arguments.steps < workload.least_steps:
        parser.error(
            f"--steps {arguments.steps}: {workload.name} needs {workload.least_steps} or more, "
            "for its steps take milliseconds, and the first ones far longer"
        )
    size = Size(arguments.side, arguments.batch, arguments.steps)
    root = Path(tempfile.mkdtemp(prefix="tw-"))
    try:
        job = workload.make(arguments.python.absolute(), root, size)
        print(json.dumps({"name": workload.name, **measure(job, root / "run", size)}))
    except WorkloadError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())


_SIDE = 1024
_QUALITY = 85
_COARSE = 16
"""Side of the noise that is enlarged to a picture, so that it compresses as a photograph does."""


def write_photographs(folder: Path, *, count: int, side: int = 0) -> None:
    """JPEGs of 1024 pixels of a disc or a square. `side`: resized to it, as `packing.prepare.image`
    would; 0 leaves them."""
    folder.mkdir(parents=True)
    chosen = random.Random(7)
    with tarfile.open(folder / "000000.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
        for number in range(count):
            label = number % 2
            image = _photograph(chosen, label)
            if side:
                image = image.resize((side, side), Image.Resampling.LANCZOS)
            buffer = io.BytesIO()
            image.save(buffer, "JPEG", quality=_QUALITY)
            for suffix, content in (("cls", str(label).encode()), ("jpg", buffer.getvalue())):
                member = tarfile.TarInfo(f"{number:06d}.{suffix}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))


def _photograph(chosen: random.Random, label: int) -> Image.Image:
    noise = Image.frombytes("RGB", (_COARSE, _COARSE), chosen.randbytes(3 * _COARSE**2))
    image = noise.resize((_SIDE, _SIDE), Image.Resampling.BICUBIC)
    place = chosen.randrange(_SIDE // 2)
    draw = ImageDraw.Draw(image)
    shape = draw.ellipse if label else draw.rectangle
    shape((place, place, place + _SIDE // 2, place + _SIDE // 2), fill=(200, 60, 40))
    return image
