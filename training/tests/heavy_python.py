"""The environments of the heavy recipes."""

from __future__ import annotations

from pathlib import Path

import pytest

from hosts import TRAINING


def python_of(environment: str, recipe: str) -> Path:
    """Its interpreter. Who asks for a heavy test hears what is missing: a skip looks passed."""
    python = TRAINING.parent / f".venv-{environment}" / "bin" / "python"
    if not python.exists():
        pytest.fail(f"{python} is not there: npm run recipes -- {recipe} makes it", pytrace=False)
    return python
