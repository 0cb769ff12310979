"""Every recipe on several hosts: undisturbed, interrupted, resumed, compared."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from catalogue import CATALOGUE, Entry
from heavy import python_of
from interrupted import measure

pytestmark = pytest.mark.slow
# test_ddp_recipe.py interrupts ddp in every way, and lm-sharded trains what lm does.
# `npm run recipes` measures all of them.
ELSEWHERE = ("ddp", "single", "mpi-pipe", "lm")
LIGHT = [e for e in CATALOGUE if e.environment == "" and e.name not in ELSEWHERE]
HEAVY = [entry for entry in CATALOGUE if entry.environment != ""]


@pytest.mark.parametrize("entry", LIGHT, ids=lambda entry: entry.name)
def test_an_interrupted_recipe_reaches_the_same_result(entry: Entry, tmp_path: Path) -> None:
    result = measure(entry.make(Path(sys.executable), tmp_path / "data"), tmp_path, seed=3)
    assert result.is_within, result


@pytest.mark.heavy
@pytest.mark.timeout(900)
@pytest.mark.parametrize("entry", HEAVY, ids=lambda entry: entry.name)
def test_an_interrupted_heavy_recipe_reaches_the_same_result(entry: Entry, tmp_path: Path) -> None:
    python = python_of(entry.environment, entry.name)
    result = measure(entry.make(python, tmp_path / "data"), tmp_path, seed=3)
    assert result.is_within, result
