"""The heavy recipes and their environments."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import pytest

from catalogue import CATALOGUE
from hosts import TRAINING
from interrupted import Recipe, run_whole


def python_of(environment: str, recipe: str) -> Path:
    """The environment's interpreter; the test fails without it, because a skip looks passed."""
    python = TRAINING.parent / f".venv-{environment}" / "bin" / "python"
    if not python.exists():
        pytest.fail(f"{python} is not there: npm run recipes -- {recipe} makes it", pytrace=False)
    return python


def recipe_of(name: str, work: Path) -> Recipe:
    entry = next(entry for entry in CATALOGUE if entry.name == name)
    python = python_of(entry.environment, name) if entry.environment else Path(sys.executable)
    return entry.make(python, work / "data")


@cache
def undisturbed(name: str, work: Path) -> Path:
    return run_whole(recipe_of(name, work), work / f"{name}-undisturbed")
