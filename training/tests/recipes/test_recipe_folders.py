"""Each recipe's folder is all that a pipeline's source needs, once its link is followed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hosts import TRAINING

FOLDERS = sorted(path.parent for path in (TRAINING / "recipes").glob("*/config.py"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_recipe_that_is_copied_reads_its_settings_elsewhere(folder: Path, tmp_path: Path) -> None:
    """`cp -rL`, as docs/strategies.md says."""
    copy = tmp_path / "source"
    subprocess.run(["cp", "-rL", str(folder), str(copy)], check=True)
    assert not [path for path in copy.rglob("*") if path.is_symlink()]
    program = "from config import Config; Config.from_arguments(['--epochs', '0'])"
    ended = subprocess.run(
        [sys.executable, "-B", "-c", program], cwd=copy, capture_output=True, text=True
    )
    assert "epochs=0: give a value from 1 to 100000" in ended.stderr


def test_every_link_in_the_recipes_is_to_what_they_share() -> None:
    links = {
        path.parent.name: str(path.readlink())
        for path in (TRAINING / "recipes").glob("*/*")
        if path.is_symlink()
    }
    assert links == {folder.name: "../common" for folder in FOLDERS}
