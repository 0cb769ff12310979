"""What `raise SystemExit(...)` in a program may have meant, since nothing tells its code later."""

from __future__ import annotations

import ast
from pathlib import Path


def are_good(file: str) -> bool:
    """Whether each one in this file gives 0 or None, by itself or by a function of the file."""
    tree = ast.parse(Path(file).read_bytes())
    functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
    raised = [each.exc for each in ast.walk(tree) if isinstance(each, ast.Raise)]
    exits = [each for each in raised if _name(each) == "SystemExit"]
    return bool(exits) and all(_is_good(each, functions) for each in exits)


def _name(value: ast.expr | None) -> str:
    if isinstance(value, ast.Call):
        value = value.func
    return value.id if isinstance(value, ast.Name) else ""


def _is_good(raised: ast.expr | None, functions: dict[str, ast.FunctionDef]) -> bool:
    given = raised.args if isinstance(raised, ast.Call) else []
    function = functions.get(_name(given[0])) if given else None
    if function is None:
        return all(_is_zero(each) for each in given)
    returned = [each for each in ast.walk(function) if isinstance(each, ast.Return)]
    return all(_is_zero(each.value) for each in returned)


def _is_zero(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value in (None, 0))
