"""Recipe folders are copied whole: what they share is in each of them, and the same in all."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from conftest import TRAINING

RECIPES = TRAINING / "recipes"
FOLDERS = sorted(path.parent for path in RECIPES.glob("*/config.py"))
SAME = {
    "world.py": {"ddp", "lm", "vit"},
    "shards.py": {"ddp", "ray", "vit"},
    "batches.py": {"ddp", "vit"},
    "checkpoints.py": {"ddp", "lm", "ray", "vit"},
    "model.py": {"ray", "vit"},
    "train.py": {"ddp", "vit"},
}
"""Who has the same file. Other recipes may have one of that name that is truly different."""


@pytest.mark.parametrize("name", SAME)
def test_what_recipes_share_is_the_same_in_all(name: str) -> None:
    by_content: dict[bytes, set[str]] = defaultdict(set)
    for folder in FOLDERS:
        if (folder / name).exists():
            by_content[(folder / name).read_bytes()].add(folder.name)
    # Exactly these: a recipe that has the file by chance, or has changed it, is named here.
    assert sorted(map(sorted, (s for s in by_content.values() if len(s) > 1))) == [
        sorted(SAME[name])
    ]


def test_nothing_else_is_there_twice() -> None:
    seen: dict[bytes, list[Path]] = defaultdict(list)
    for folder in FOLDERS:
        for path in folder.glob("*.py"):
            seen[path.read_bytes()].append(path)
    twice = {paths[0].name for paths in seen.values() if len(paths) > 1}
    assert twice == set(SAME)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_recipe_needs_no_file_of_another(folder: Path) -> None:
    """What it imports is in its folder, given by the agent, or a package."""
    other = {path.stem for each in FOLDERS for path in each.glob("*.py") if each != folder}
    own = {path.stem for path in folder.glob("*.py")}
    imported = set()
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.split(".")[0])
    assert imported & (other - own) <= set()
