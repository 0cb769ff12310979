"""Imports go one way, those inside of functions and for types alone included.

The agent's rooms form layers: each imports only those before it in the README's table.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from hosts import TRAINING

AGENT = TRAINING / "agent"
PACKAGES = {
    "tidewheel": AGENT / "for_scripts",
    "tidewheel_agent": AGENT,
    "tidewheel_host": AGENT,
    "tidewheel_automatic": TRAINING / "automatic",
    "tidewheel_instrument": TRAINING / "instrument",
}
MAY_IMPORT = {"tidewheel_host": {"tidewheel_agent"}, "tidewheel_automatic": {"tidewheel"}}
"""Other packages: an archive has only the one that it delivers."""
_TABLE = (AGENT / "README.md").read_text()
LAYERS = re.findall(r"^\| `tidewheel_agent/(\w+)/`", _TABLE, re.MULTILINE)


def _modules() -> Iterator[tuple[str, Path]]:
    for package, folder in PACKAGES.items():
        for path in (folder / package).rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            yield ".".join(parts).removesuffix(".__init__"), path


MODULES = dict(_modules())


def imported(module: str) -> set[str]:
    """Our own modules, by their whole names."""
    path = MODULES[module]
    package = module.split(".")[: None if path.name == "__init__.py" else -1]
    names = set[str]()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{origin}.{alias.name}"
                names.add(inner if inner in MODULES else origin)
    return (names & {*MODULES}) - {module}


IMPORTS = {module: imported(module) for module in MODULES}


def room_of(module: str) -> str | None:
    package, *rest = module.split(".")
    return rest[0] if package == "tidewheel_agent" and rest and rest[0] in LAYERS else None


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_imports_itself_through_others(package: str) -> None:
    own = {name: found for name, found in IMPORTS.items() if name.split(".")[0] == package}
    assert len(own) > 5
    TopologicalSorter(own).prepare()


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_only_what_is_delivered_with_it(package: str) -> None:
    own = [found for name, found in IMPORTS.items() if name.split(".")[0] == package]
    others = {name.split(".")[0] for name in set().union(*own)} - {package}
    assert others <= MAY_IMPORT.get(package, set())


def test_the_readme_lists_every_room() -> None:
    assert set(LAYERS) == {path.parent.name for path in AGENT.glob("tidewheel_agent/*/__init__.py")}


@pytest.mark.parametrize("room", LAYERS)
def test_a_room_imports_only_lower_rooms(room: str) -> None:
    rooms = {
        room_of(each) for name, found in IMPORTS.items() if room_of(name) == room for each in found
    }
    assert rooms <= {*LAYERS[: LAYERS.index(room) + 1], None}


def test_modules_outside_rooms_import_none() -> None:
    basic = [path.stem for path in AGENT.glob("tidewheel_agent/*.py") if path.name != "main.py"]
    assert len(basic) > 3
    rooms = {room_of(each) for name in basic for each in IMPORTS.get(f"tidewheel_agent.{name}", ())}
    assert rooms <= {None}
