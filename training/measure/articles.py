"""`articles.py NAME --python INTERPRETER [--steps 30] [--side 56]`: one workload of an article,
small or as large as there, for some steps on this machine; prints one JSON line."""

import argparse
import contextlib
import io
import json
import os
import random
import shutil
import subprocess
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
    article: Size | None = None
    """The article's own size, and its model: it runs only where it is named."""
    steps: int = 30
    precision: str = "float32"
    """In which the article's model trains."""


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


def _post(make: Callable[..., JobOnThisMachine], **settings: object) -> Callable[..., Any]:
    """The article's model on photographs of three channels."""

    def posted(python: Path, data: Path, size: Size) -> JobOnThisMachine:
        job = make(python, data, size)
        folder = data / "photographs"
        write_photographs(folder, count=2 * size.batch + 60, side=size.side)
        of = {"model": VIT, "holdout_percent": 5, "learning_rate": 1e-4, **settings}
        return replace(job, data=folder, hyperparameters={**job.hyperparameters, **of})

    return posted


def _photographs(prepared: bool, workers: int = -1) -> Callable[..., JobOnThisMachine]:
    """Resized each time that they are read, or once before. One loader worker reads ahead, or as
    many as `workers`."""

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
                "loader_workers": workers,
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
    *(
        Workload(f"loader-workers-{workers}", "", _photographs(prepared=False, workers=workers))
        for workers in (0, 1, 3, 7)
    ),
    Workload(
        "ray-post",
        "ray",
        _post(_ray_blurs(THREE[1:]), prefetch_batches=2),
        article=Size(224, 64, 1_000),
        steps=3,
    ),
    Workload(
        "spot-post",
        "ray",
        _post(_on_one_host(_vit("bfloat16")), rate_steps=10),
        article=Size(224, 128, 100),
        steps=11,
        precision="bfloat16",
    ),
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


VIT, PARAMETERS = "vit_base_patch16_224", 86_567_656
"""timm's VisionTransformer()."""
_STATE_BYTES, _IMAGE_BYTES = 16 * PARAMETERS, 125e6
"""Weights, gradients and AdamW's two averages, in float32; and what an image of 224 x 224 pixels
keeps until its backward pass: 34 bytes for each of 197 x 768 numbers of 12 layers in 16 bits
(https://arxiv.org/abs/2205.05198), here twice."""


def check_memory(size: Size, available: int) -> str:
    """Say what training the article's model needs. Raises where memory would end."""
    needed = _STATE_BYTES + size.batch * _IMAGE_BYTES
    text = f"{VIT}, {PARAMETERS:,} parameters, batch {size.batch}: {needed / 1e9:.1f} GB of memory"
    if needed > available:
        fits = (available - _STATE_BYTES) / _IMAGE_BYTES
        remedy = f"give --batch {int(fits)} or fewer" if fits >= 1 else "free some"
        raise WorkloadError(f"{text}, of which {available / 1e9:.1f} GB are available: {remedy}")
    return text


def time_step(python: Path, size: Size, precision: str) -> float:
    """Return the seconds of CPU that a step of the article's model takes on one thread, as the
    recipes train: steps of one and of four samples tell what a whole batch takes."""
    program = [str(python), str(Path(__file__).with_name("time_step.py"))]
    ended = subprocess.run(
        [*program, VIT, str(size.side), precision], capture_output=True, text=True, check=False
    )
    if ended.returncode != 0:
        raise WorkloadError(f"a step of {VIT} cannot be timed\n{ended.stderr}")
    one, four = json.loads(ended.stdout)
    return float(one + (size.batch - 1) * max(one / 10, (four - one) / 3))


def expectation(article: Size, size: Size, step: float) -> str:
    """Say how long training takes where a CPU is free, and how long in as many steps as there."""
    return (
        f"about {step:.1f} s a step on a free CPU, {size.steps * step / 60:,.1f} min for "
        f"{size.steps:,} steps (the article's {article.steps:,}: "
        f"{article.steps * step / 3600:,.1f} h)"
    )


def available_bytes() -> int:
    """MemAvailable on Linux, else what no program holds."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


class WorkloadError(Exception):
    """A host failed; the message holds the ends of the logs."""


def measure(job: JobOnThisMachine, root: Path, size: Size, limit_seconds: float) -> dict[str, Any]:
    """Steps and the mean step of the slowest host, without the first fifth."""
    limit = json.dumps({"steps": size.steps})
    attempt = Attempt(
        root, replace(job, hyperparameters={**job.hyperparameters, "tidewheel_script": limit})
    )
    try:
        attempt.start()
        codes = attempt.wait(limit_seconds)
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
            "waits": _waits(attempt),
        }
    finally:
        attempt.close()


def _waits(attempt: Attempt) -> float | None:
    """The share of its time that training waited for data, as the last points have it; None where
    there is none of a loader."""
    points = [
        json.loads(line)
        for base in attempt.bases
        for path in (base / CHECKPOINTS / "tidewheel-evidence").glob("*.jsonl")
        for line in path.read_text().splitlines()[-3:]
    ]
    shares = [
        each["shares"]["wait"] for each in points if each["steps"] and each["loader"]["batchSize"]
    ]
    return round(sum(shares) / len(shares), 4) if shares else None


def _mean(blocks: dict[str, Any]) -> float:
    pairs = list(zip(blocks["blockSeconds"], blocks["blockSteps"], strict=True))
    return float(sum(seconds * steps for seconds, steps in pairs) / sum(s for _, s in pairs))


def _size_of(workload: Workload, given: argparse.Namespace) -> Size:
    usual = replace(workload.article or Size(56, 16, 0), steps=workload.steps)
    chosen = {n: v for n in ("side", "batch", "steps") if (v := getattr(given, n)) is not None}
    return replace(usual, **chosen)


def main() -> int:
    parser = argparse.ArgumentParser(prog="articles", allow_abbrev=False)
    parser.add_argument("name", nargs="?", choices=[each.name for each in WORKLOADS])
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--steps", type=int)
    parser.add_argument("--side", type=int)
    parser.add_argument("--batch", type=int)
    arguments = parser.parse_args()
    if arguments.name is None:
        print(
            json.dumps(
                [
                    {
                        "name": w.name,
                        "environment": w.environment,
                        "least_steps": w.least_steps,
                        "named_only": w.article is not None or w.name == "loader-workers-7",
                    }
                    for w in WORKLOADS
                ]
            )
        )
        return 0
    workload = next(each for each in WORKLOADS if each.name == arguments.name)
    size = _size_of(workload, arguments)
    if size.steps < workload.least_steps:
        parser.error(
            f"--steps {size.steps}: {workload.name} needs {workload.least_steps} or more, "
            "for its steps take milliseconds, and the first ones far longer"
        )
    root = Path(tempfile.mkdtemp(prefix="tw-"))
    try:
        python = arguments.python.absolute()
        limit_seconds = _LIMIT_SECONDS
        if workload.article:
            print(check_memory(size, available_bytes()), flush=True)
            step = time_step(python, size, workload.precision)
            print(expectation(workload.article, size, step), flush=True)
            limit_seconds += 30 * size.steps * step
        job = workload.make(python, root, size)
        result = measure(job, root / "run", size, limit_seconds)
        print(json.dumps({"name": workload.name, **result}))
    except WorkloadError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return 0


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


if __name__ == "__main__":
    sys.exit(main())
