"""Runs a recipe undisturbed and with one seeded interruption, and compares the results."""

import json
import random
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from hosts import CHECKPOINTS, Attempt, JobOnThisMachine

_LEAVE_SECONDS = 60.0


class RecipeError(Exception):
    """A run went wrong; the message holds the ends of the logs."""


@dataclass(frozen=True)
class Result:
    """A row of the table."""

    recipe: str
    strategy: str
    hosts: int
    world_size: int
    steps_before: int
    steps_after: int
    metric: str
    undisturbed: float
    interrupted: float
    same: str
    """`yes` if the models are equal to the bit; else the difference of the metrics."""
    is_within: bool
    """Whether the difference is within the recipe's tolerance."""
    seconds: float

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True)
class Recipe:
    name: str
    job: JobOnThisMachine
    world_size: int
    metric: str
    model: str
    """The file in the model folder to compare."""
    tolerance: float = 0.0
    """Allowed difference of the metrics; 0 demands equal bits."""
    least: float = 0.0
    """The metric's lower limit: a run that learned nothing proves nothing."""
    interrupt_from: int = 1
    """The earliest step for the interruption, which waits for a checkpoint."""
    total: int = 100
    limit_seconds: float = 240.0
    check: Callable[[Attempt], str] | None = None
    """Checks a finished run further; returns the problem, or an empty string."""


def measure(recipe: Recipe, root: Path, seed: int) -> Result:
    """Raises RecipeError when an attempt does not end as it should."""
    started = time.monotonic()
    undisturbed = run_whole(recipe, root / "undisturbed")
    # The seed chooses the step, in the first half of the training.
    latest = max(recipe.interrupt_from, recipe.total // 2)
    step = random.Random(seed).randint(recipe.interrupt_from, latest)
    before, saved = run_interrupted(recipe, root / "first", step)
    resumed = run_whole(recipe, root / "second", saved)
    after = int(_metrics(resumed)["step"])
    values = [_metrics(base)[recipe.metric] for base in (undisturbed, resumed)]
    models = [(base / "model" / recipe.model).read_bytes() for base in (undisturbed, resumed)]
    same = models[0] == models[1]
    difference = abs(values[0] - values[1])
    if min(values) < recipe.least:
        raise RecipeError(f"{recipe.name}: {recipe.metric} is {values}, expected {recipe.least}")
    return Result(
        recipe=recipe.name,
        strategy=recipe.job.strategy,
        hosts=len(recipe.job.hosts),
        world_size=recipe.world_size,
        steps_before=before,
        steps_after=after - before,
        metric=recipe.metric,
        undisturbed=values[0],
        interrupted=values[1],
        same="yes" if same else f"{recipe.metric} differs by {difference:.4f}",
        is_within=same if recipe.tolerance == 0 else difference <= recipe.tolerance,
        seconds=round(time.monotonic() - started, 1),
    )


def run_whole(recipe: Recipe, root: Path, saved: Path | None = None) -> Path:
    """Runs to the end, from the start or from checkpoints; returns the leader's folder."""
    attempt = Attempt(root, recipe.job)
    if saved is not None:
        _copy_checkpoints(saved, attempt)
    try:
        attempt.start()
        codes = attempt.wait(recipe.limit_seconds)
        if any(code != 0 for code in codes):
            raise RecipeError(f"{recipe.name}: exit codes {codes}\n{attempt.logs()}")
        problem = recipe.check(attempt) if recipe.check else ""
        if problem:
            raise RecipeError(f"{recipe.name}: {problem}\n{attempt.logs()}")
        if saved is not None and "resumed at step" not in attempt.logs(10_000):
            raise RecipeError(f"{recipe.name}: did not resume\n{attempt.logs()}")
        return attempt.leader
    finally:
        attempt.close()


def run_interrupted(recipe: Recipe, root: Path, step: int) -> tuple[int, Path]:
    """Runs until a checkpoint of `step`, then stops; returns the saved step and its folder."""
    attempt = Attempt(root, slowed(recipe.job))
    try:
        attempt.start()
        if not attempt.await_step(step, recipe.limit_seconds):
            raise RecipeError(f"{recipe.name}: never reached step {step}\n{attempt.logs()}")
        attempt.signal(signal.SIGTERM)
        codes = attempt.wait(_LEAVE_SECONDS)
        if any(code != 143 for code in codes):
            raise RecipeError(f"{recipe.name}: left with {codes}, not 143\n{attempt.logs()}")
        return int(attempt.progress()["step"]), bucket_of(attempt)
    finally:
        attempt.close()


def slowed(job: JobOnThisMachine) -> JobOnThisMachine:
    """The job with ten times its pause after a step, if it has one.

    On a busy machine a job of seconds can end before the interruption reaches it.
    """
    settings = job.hyperparameters
    if "pause" not in settings:
        return job
    return replace(job, hyperparameters={**settings, "pause": settings["pause"] * 10})


def same_result(recipe: Recipe, one: Path, other: Path) -> bool:
    """Whether two results are equal to the bit, or within the recipe's tolerance."""
    models = [(base / "model" / recipe.model).read_bytes() for base in (one, other)]
    if recipe.tolerance == 0:
        return models[0] == models[1]
    values = [_metrics(base)[recipe.metric] for base in (one, other)]
    return abs(values[0] - values[1]) <= recipe.tolerance


def bucket_of(attempt: Attempt) -> Path:
    """The checkpoints of all hosts in one folder, as in S3; the leader's files win."""
    bucket = attempt.leader.parent / "bucket"
    for base in (*reversed(attempt.bases), attempt.leader):
        if (base / CHECKPOINTS).is_dir():
            shutil.copytree(base / CHECKPOINTS, bucket, dirs_exist_ok=True)
    return bucket


def _copy_checkpoints(saved: Path, attempt: Attempt) -> None:
    """As from S3, every host of the next job gets all checkpoints."""
    for base in attempt.bases:
        shutil.copytree(saved, base / CHECKPOINTS, dirs_exist_ok=True)


def _metrics(base: Path) -> dict[str, float]:
    metrics: dict[str, float] = json.loads((base / "model" / "metrics.json").read_text())
    return metrics
