"""The heavy recipes and their environments."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Sequence
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


def python_over_torch(name: str) -> Path:
    """The interpreter of an environment with a lock's packages over those of .venv (torch)."""
    lock = TRAINING / "environments" / f"{name}.lock"
    return _laid_over_torch(name, lock.read_text(), ["--no-deps", "-r", str(lock)])


NEWEST_PACKAGES = "2026-11-28"
"""What a pinned package needs is of this day, too, so that a test stays as it is."""


def python_with(packages: Sequence[str]) -> Path:
    """The interpreter of an environment with pinned packages, and what they need, over torch."""
    if not packages:
        return Path(sys.executable)
    files = [TRAINING / "environments" / f"families.{kind}" for kind in ("excludes", "overrides")]
    content = "\n".join([NEWEST_PACKAGES, *(file.read_text() for file in files), *packages])
    options = ["--exclude-newer", NEWEST_PACKAGES, "--excludes", str(files[0])]
    options += ["--overrides", str(files[1]), *packages]
    return _laid_over_torch(packages[0].partition("=")[0], content, options)


def _laid_over_torch(name: str, content: str, options: list[str]) -> Path:
    """Made once for each `content`. `options`: those of uv, or of pip where it takes them."""
    root = TRAINING.parent
    digest = hashlib.sha256(content.encode()).hexdigest()[:12]
    folder = root / ".tidewheel" / "tools" / f"{name}-{digest}"
    python = folder / "bin" / "python"
    if (folder / "complete").exists():
        return python
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    site = next((folder / "lib").glob("python3*")) / "site-packages"
    own = next((root / ".venv" / "lib").glob("python3*")) / "site-packages"
    (site / "project.pth").write_text(f"{own}\n")
    uv = root / ".venv" / "bin" / "uv"
    pip = [str(python), "-m", "pip", "install", "--progress-bar=off"]
    quick = [str(uv), "pip", "install", "--python", str(python)]
    subprocess.run([*(quick if uv.exists() else pip), *options], check=True)
    (folder / "complete").touch()
    return python


def recipe_of(name: str, work: Path) -> Recipe:
    entry = next(entry for entry in CATALOGUE if entry.name == name)
    python = python_of(entry.environment, name) if entry.environment else Path(sys.executable)
    return entry.make(python, work / "data")


@cache
def undisturbed(name: str, work: Path) -> Path:
    return run_whole(recipe_of(name, work), work / f"{name}-undisturbed")
