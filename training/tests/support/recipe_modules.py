"""Imports a recipe's modules, whose names other recipes share."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from hosts import TRAINING


def load_modules(recipe: str, *names: str) -> list[Any]:
    """Imports modules with the recipe's folder first on the path, then restores the path."""
    folder = TRAINING / "recipes" / recipe
    own = [path.stem for path in folder.glob("*.py")]
    before: dict[str, ModuleType] = {n: sys.modules.pop(n) for n in own if n in sys.modules}
    sys.path.insert(0, str(folder))
    try:
        return [importlib.import_module(name) for name in names]
    finally:
        sys.path.remove(str(folder))
        for name in own:
            sys.modules.pop(name, None)
        sys.modules.update(before)
