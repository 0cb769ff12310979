"""Every recipe on several hosts: undisturbed, interrupted, resumed, compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from catalogue import CATALOGUE, Entry
from heavy import python_of, recipe_of
from interrupted import measure

pytestmark = pytest.mark.slow
# test_ddp_recipe.py interrupts ddp in every way, and lm-sharded trains what lm does.
# `npm run recipes` measures all of them, at full length.
SHORT: dict[str, tuple[int, dict[str, object]]] = {
    "lm-sharded": (30, {"epochs": 1}),
    "mpi": (64, {"epochs": 1, "tidewheel_processes_per_host": 1}),
}
HEAVY = [entry for entry in CATALOGUE if entry.environment != ""]


@pytest.mark.parametrize("name", [pytest.param("lm-sharded", marks=pytest.mark.heavy), "mpi"])
def test_an_interrupted_recipe_reaches_the_same_result(name: str, tmp_path: Path) -> None:
    recipe = recipe_of(name, tmp_path)
    total, settings = SHORT[name]
    job = replace(recipe.job, hyperparameters={**recipe.job.hyperparameters, **settings})
    result = measure(replace(recipe, job=job, total=total, least=0.0), tmp_path, seed=3)
    assert result.is_within, result


@pytest.mark.heavy
@pytest.mark.timeout(900)
@pytest.mark.parametrize("entry", HEAVY, ids=lambda entry: entry.name)
def test_an_interrupted_heavy_recipe_reaches_the_same_result(entry: Entry, tmp_path: Path) -> None:
    python = python_of(entry.environment, entry.name)
    result = measure(entry.make(python, tmp_path / "data"), tmp_path, seed=3)
    assert result.is_within, result
