"""A copied recipe folder is a complete source for a pipeline."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hosts import TRAINING

FOLDERS = sorted(path.parent for path in (TRAINING / "recipes").glob("*/config.py"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_copied_recipe_runs_elsewhere(folder: Path, tmp_path: Path) -> None:
    """Copies with `cp -rL`, as docs/strategies.md advises."""
    copy = tmp_path / "source"
    subprocess.run(["cp", "-rL", str(folder), str(copy)], check=True)
    assert not [path for path in copy.rglob("*") if path.is_symlink()]
    program = "from config import Config; Config.from_arguments(['--epochs', '0'])"
    ended = subprocess.run(
        [sys.executable, "-B", "-c", program], cwd=copy, capture_output=True, text=True
    )
    assert "epochs=0: give a value from 1 to 100000" in ended.stderr


def test_every_recipe_links_to_the_shared_code() -> None:
    links = {
        path.parent.name: str(path.readlink())
        for path in (TRAINING / "recipes").glob("*/*")
        if path.is_symlink()
    }
    assert links == {folder.name: "../common" for folder in FOLDERS}
