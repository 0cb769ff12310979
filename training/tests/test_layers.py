"""The agent's rooms form layers: each imports only those before it in the README's table."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from hosts import TRAINING

AGENT = TRAINING / "agent"
PACKAGE = AGENT / "tidewheel_agent"
_TABLE = (AGENT / "README.md").read_text()
LAYERS = re.findall(r"^\| `tidewheel_agent/(\w+)/`", _TABLE, re.MULTILINE)


def imported_rooms(path: Path) -> set[str]:
    """Rooms that a module of the package imports, `TYPE_CHECKING` blocks included."""
    package = path.relative_to(AGENT).parent.parts
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = [*base, *(node.module or "").split(".")]
            if module[0] == PACKAGE.name and len(module) > 1 and module[1] in LAYERS:
                rooms.add(module[1])
    return rooms


def test_the_readme_lists_every_room() -> None:
    assert set(LAYERS) == {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


@pytest.mark.parametrize("room", LAYERS)
def test_a_room_imports_only_lower_rooms(room: str) -> None:
    imported = set().union(*map(imported_rooms, (PACKAGE / room).rglob("*.py")))
    assert imported <= {*LAYERS[: LAYERS.index(room) + 1]}


def test_modules_outside_rooms_import_none() -> None:
    basic = [path for path in PACKAGE.glob("*.py") if path.name != "main.py"]
    assert len(basic) > 3
    assert {path.name: imported_rooms(path) for path in basic} == {p.name: set() for p in basic}
