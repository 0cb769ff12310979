"""One recipe twice: undisturbed, and with one seeded interruption; then the two are compared."""

from __future__ import annotations

import json
import random
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from hosts import CHECKPOINTS, Attempt, JobOnThisMachine, processes_below

_LEAVE_SECONDS = 60.0


class RecipeError(Exception):
    """A run that did not do what it must; carries the ends of the logs."""


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
    """`yes`: the model is the same to the bit; else the difference of the metric."""
    is_within: bool
    """Whether that is within what the framework's determinism allows."""
    seconds: float

    def document(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True)
class Recipe:
    name: str
    job: JobOnThisMachine
    world_size: int
    metric: str
    model: str
    """The file in the model folder that is compared."""
    tolerance: float = 0.0
    """Allowed difference of the metric; 0 asks for the same bits."""
    least: float = 0.0
    """The metric must reach this: a run that learnt nothing proves nothing."""
    interrupt_from: int = 1
    """Step whose checkpoint the interruption waits for, at the earliest."""
    total: int = 100
    limit_seconds: float = 240.0
    check: Callable[[Attempt], str] | None = None
    """Looks for what else must be true of a finished run; returns what is wrong, or nothing."""


def measure(recipe: Recipe, root: Path, seed: int) -> Result:
    """Raises RecipeError when an attempt ends otherwise than it must."""
    started = time.monotonic()
    undisturbed = run_whole(recipe, root / "undisturbed")
    # Where the interruption hits is the seed's choice, of the steps before the last checkpoint.
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
    """The leader's folder of a run from its start, or from what was saved, to its end."""
    attempt = Attempt(root, recipe.job)
    if saved is not None:
        _give(saved, attempt)
    try:
        attempt.start()
        codes = attempt.wait(recipe.limit_seconds)
        # None: still there after its time.
        if any(code != 0 for code in codes):
            raise RecipeError(f"{recipe.name}: exit codes {codes}\n{attempt.logs()}")
        wrong = recipe.check(attempt) if recipe.check else ""
        if wrong:
            raise RecipeError(f"{recipe.name}: {wrong}\n{attempt.logs()}")
        if saved is not None and "resumed at step" not in attempt.logs(10_000):
            raise RecipeError(f"{recipe.name}: did not resume\n{attempt.logs()}")
        return attempt.leader
    finally:
        attempt.close()


def run_interrupted(recipe: Recipe, root: Path, step: int) -> tuple[int, Path]:
    """The step that was saved, and the folder with what the next attempt gets."""
    attempt = Attempt(root, recipe.job)
    try:
        attempt.start()
        if not attempt.await_step(step, recipe.limit_seconds):
            raise RecipeError(f"{recipe.name}: never reached step {step}\n{attempt.logs()}")
        attempt.signal(signal.SIGTERM)
        codes = attempt.wait(_LEAVE_SECONDS)
        if any(code != 143 for code in codes):
            raise RecipeError(f"{recipe.name}: left with {codes}, not 143\n{attempt.logs()}")
        return int(attempt.progress()["step"]), attempt.leader / CHECKPOINTS
    finally:
        attempt.close()


@dataclass(frozen=True)
class Loss:
    """What became of the others when a host was gone from one moment to the next."""

    codes: tuple[int | None, ...]
    """Exit codes of the survivors; None: still there."""
    seconds: float
    """From the loss to the end of the last survivor."""
    failures: tuple[str, ...]
    """What survivors wrote into their failure files."""
    left: int
    """Processes of the job that are still there."""
    step: int
    """The newest step that is safe."""
    saved: Path


def lose_host(recipe: Recipe, root: Path, host: int, *, step: int, within: float) -> Loss:
    """Kills everything on one host once `step` is saved: kill -9, nothing gets to say a word."""
    attempt = Attempt(root, recipe.job)
    try:
        attempt.start()
        if not attempt.await_step(step, recipe.limit_seconds):
            raise RecipeError(f"{recipe.name}: never reached step {step}\n{attempt.logs()}")
        lost_at = time.monotonic()
        attempt.lose(host)
        others = [index for index in range(len(attempt.bases)) if index != host]
        codes = attempt.wait(within)
        seconds = time.monotonic() - lost_at
        files = [attempt.bases[index] / "output" / "failure" for index in others]
        return Loss(
            codes=tuple(codes[index] for index in others),
            seconds=round(seconds, 1),
            failures=tuple(file.read_text() for file in files if file.exists()),
            left=sum(len(processes_below(base)) for base in attempt.bases),
            step=int(attempt.progress()["step"]),
            saved=attempt.leader / CHECKPOINTS,
        )
    finally:
        attempt.close()


def same_result(recipe: Recipe, one: Path, other: Path) -> bool:
    """To the bit, or within the tolerance where the framework allows no more."""
    models = [(base / "model" / recipe.model).read_bytes() for base in (one, other)]
    if recipe.tolerance == 0:
        return models[0] == models[1]
    values = [_metrics(base)[recipe.metric] for base in (one, other)]
    return abs(values[0] - values[1]) <= recipe.tolerance


def _give(saved: Path, attempt: Attempt) -> None:
    """As S3 does: every host of the next job gets all that was saved."""
    for base in attempt.bases:
        shutil.copytree(saved, base / CHECKPOINTS, dirs_exist_ok=True)


def _metrics(base: Path) -> dict[str, float]:
    said: dict[str, float] = json.loads((base / "model" / "metrics.json").read_text())
    return said
