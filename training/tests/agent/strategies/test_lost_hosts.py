"""kill -9 of a host: the others end soon with the reason, and the next attempt reaches the result.

Minutes, in the environments of the recipes:
`pytest -m heavy tests/agent/strategies/test_lost_hosts.py -s`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from heavy import recipe_of, undisturbed
from hosts import Attempt, processes_below
from interrupted import Recipe, RecipeError, bucket_of, run_whole, same_result, slowed

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(3600)]
# The agent gives a script ten seconds to end by itself and three more after SIGTERM. The rest is
# for a loaded machine.
WITHIN_SECONDS = 90.0
CASES = [
    pytest.param("mpi", 0, id="mpi: the first host"),
    pytest.param("mpi", 1, id="mpi: another host"),
    pytest.param("parameter-server", 0, id="parameter-server: the chief's host"),
    pytest.param("parameter-server", 1, id="parameter-server: a worker's and its parameters'"),
    pytest.param("data-service", 0, id="data-service: the host that trains"),
    pytest.param("data-service", 2, id="data-service: a helper"),
    pytest.param("ray-two", 0, id="ray: the head's host"),
    pytest.param("ray-two", 1, id="ray: another host that trains"),
    pytest.param("ray-two", 2, id="ray: the helper"),
]


@dataclass(frozen=True)
class Loss:
    """How the other hosts ended after one was lost."""

    codes: tuple[int | None, ...]
    """Exit codes of the other hosts; None for one that still runs."""
    seconds: float
    """From the loss to the end of the last host."""
    failures: tuple[str, ...]
    """Their failure files."""
    left: int
    """Processes of the job that still run."""
    step: int
    """The newest saved step."""
    saved: Path


def lose_host(recipe: Recipe, root: Path, host: int, *, step: int, within: float) -> Loss:
    """Kills everything on one host with -9 once `step` is saved."""
    attempt = Attempt(root, slowed(recipe.job))
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
            saved=bucket_of(attempt),
        )
    finally:
        attempt.close()


@pytest.mark.parametrize(("name", "host"), CASES)
def test_after_a_lost_host_the_next_attempt_succeeds(
    name: str, host: int, work: Path, tmp_path: Path
) -> None:
    recipe = recipe_of(name, work)
    step = recipe.interrupt_from + recipe.total // 4
    loss = lose_host(recipe, tmp_path / "lost", host, step=step, within=WITHIN_SECONDS)
    print(f"\n{name}, host {host}: the others ended after {loss.seconds} s with {loss.codes}")
    # The platform takes 143 for a stop, not for a failure.
    assert set(loss.codes) == {143}
    assert all(text.startswith("Interrupted: host ") for text in loss.failures)
    assert len(loss.failures) == len(loss.codes)
    assert loss.left == 0
    assert loss.step >= step
    resumed = run_whole(recipe, tmp_path / "resumed", loss.saved)
    assert same_result(recipe, undisturbed(name, work), resumed)
