"""`measure_helpers.py --python INTERPRETER --data FOLDER --helpers 2 ...`: measures a training that
waits for its data, on one host with equal helper hosts; prints one JSON line."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hosts import Attempt, JobOnThisMachine
from interrupted import RecipeError
from lockstep import Lockstep

HERE = Path(__file__).resolve().parent / "helpers"
VCPUS = 2
"""Threads that prepare on each host."""
_WARM_UP_STEPS = 30
"""By then the batches that hosts prepared ahead at full speed are used up."""
_PERIOD_SECONDS = 0.2
"""Long periods, because each stop of a host costs it some of its time."""
_START_SECONDS = 240.0
_RUN_SECONDS = 900.0
_END_SECONDS = 60.0


@dataclass(frozen=True)
class Question:
    helpers: int
    prepare_here: bool
    """Whether the host that trains prepares too, as it must without helpers."""
    accelerator_seconds: float
    steps: int
    cores: float


@dataclass(frozen=True)
class Mark:
    """The state between two periods."""

    step: int
    seconds: float
    cpu_seconds: dict[str, float]
    wall: float


def job_of(question: Question, python: Path, data: Path, measured: Path) -> JobOnThisMachine:
    hosts = tuple(f"127.0.0.{number}" for number in range(2, 3 + question.helpers))
    more = {"prepare_here": int(question.prepare_here)} if question.helpers else {}
    return JobOnThisMachine(
        strategy="data-service" if question.helpers else "single",
        source=HERE,
        program="train.py",
        data=data,
        python=python,
        hosts=hosts,
        groups={"train": hosts[:1], "helpers": hosts[1:]} if question.helpers else {},
        hyperparameters={
            "accelerator_seconds": question.accelerator_seconds,
            "steps": _WARM_UP_STEPS + question.steps + 5,
            **more,
        },
        environment={"TIDEWHEEL_CPUS": str(VCPUS), "TIDEWHEEL_MEASURED": str(measured)},
    )


class Run:
    def __init__(self, question: Question, job: JobOnThisMachine, root: Path) -> None:
        self._question = question
        self._steps = root / "measured" / "steps"
        self._attempt = Attempt(root / "run", job)
        lines = {base.name: f"SAGEMAKER_BASE_DIR={base}" for base in self._attempt.bases}
        self._lockstep = Lockstep(
            lines, root / "measured" / "clock", cores=question.cores, period_seconds=_PERIOD_SECONDS
        )

    def measure(self) -> tuple[Mark, Mark, list[dict[str, Any]]]:
        """The first and the last mark, and all lines of the script."""
        try:
            self._attempt.start()
            # The start runs free; it would take minutes in lockstep.
            self._lockstep.run_free(self._until(1, _START_SECONDS))
            first, last = self._measure_between(
                _WARM_UP_STEPS, _WARM_UP_STEPS + self._question.steps
            )
            # The end runs free as well; it only has to succeed.
            deadline = time.monotonic() + _START_SECONDS
            self._lockstep.run_free(lambda: self._attempt.ended() or time.monotonic() > deadline)
            codes = self._attempt.wait(_END_SECONDS)
            if any(code != 0 for code in codes):
                raise RecipeError(f"exit codes {codes}\n{self._attempt.logs()}")
            return first, last, self._read_lines()
        finally:
            self._lockstep.release()
            self._attempt.close()

    def _measure_between(self, first: int, last: int) -> tuple[Mark, Mark]:
        marks: list[Mark] = []
        reached = self._until(first, _RUN_SECONDS)

        def done() -> bool:
            nonlocal reached
            if not reached():
                return False
            marks.append(self._mark())
            reached = self._until(last, _RUN_SECONDS)
            return len(marks) == 2

        self._lockstep.run_fair(done)
        return marks[0], marks[1]

    def _until(self, step: int, within: float) -> Any:  # noqa: ANN401
        deadline = time.monotonic() + within

        def reached() -> bool:
            if self._attempt.ended() or time.monotonic() > deadline:
                raise RecipeError(f"never reached step {step}\n{self._attempt.logs()}")
            return len(self._read_lines()) >= step

        return reached

    def _read_lines(self) -> list[dict[str, Any]]:
        try:
            lines = self._steps.read_text().splitlines(keepends=True)
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def _mark(self) -> Mark:
        lockstep = self._lockstep
        return Mark(len(self._read_lines()), lockstep.now, lockstep.cpu_seconds(), time.monotonic())


def report(question: Question, first: Mark, last: Mark, log: list[dict[str, Any]]) -> Any:  # noqa: ANN401
    seconds, steps = last.seconds - first.seconds, last.step - first.step
    used = [after - first.cpu_seconds[name] for name, after in last.cpu_seconds.items()]
    losses = [float(line["loss"]) for line in log]
    few = max(1, len(losses) // 5)
    early, late = sum(losses[:few]) / few, sum(losses[-few:]) / few
    if late >= early:
        raise RecipeError(f"the model learned nothing: the loss went from {early} to {late}")
    return {
        "helpers": question.helpers,
        "prepare_here": question.prepare_here or question.helpers == 0,
        "accelerator_seconds": question.accelerator_seconds,
        "steps": steps,
        "step_seconds": round(seconds / steps, 4),
        "accelerator_use": round(question.accelerator_seconds * steps / seconds, 4),
        "cpu_use": [round(one / (question.cores * seconds), 4) for one in used],
        "cpu_seconds_per_step": round(sum(used) / steps, 4),
        "slowdown": round((last.wall - first.wall) / seconds, 2),
    }


def images(python: Path, folder: Path) -> Path:
    """The images, which the first call makes."""
    if not folder.exists():
        temporary = folder.with_name(f"{folder.name}.new")
        shutil.rmtree(temporary, ignore_errors=True)
        command = [str(python), str(HERE / "make_images.py"), str(temporary)]
        subprocess.run(command, check=True, capture_output=True)
        temporary.rename(folder)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(prog="measure_helpers")
    parser.add_argument("--python", type=Path, required=True, help="one that has TensorFlow")
    parser.add_argument("--data", type=Path, required=True, help="images are made there")
    parser.add_argument("--helpers", type=int, required=True)
    parser.add_argument("--prepare-here", action="store_true")
    parser.add_argument("--accelerator-seconds", type=float, required=True)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--cores", type=float, default=0.25)
    arguments = parser.parse_args()
    question = Question(
        helpers=arguments.helpers,
        prepare_here=arguments.prepare_here,
        accelerator_seconds=arguments.accelerator_seconds,
        steps=arguments.steps,
        cores=arguments.cores,
    )
    root = Path(tempfile.mkdtemp(prefix="tw-"))
    (root / "measured").mkdir()
    try:
        python = arguments.python.absolute()
        job = job_of(question, python, images(python, arguments.data.absolute()), root / "measured")
        print(json.dumps(report(question, *Run(question, job, root).measure())))
    except RecipeError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
