"""Placeholders such as `${checkpoints}` in what a pipeline declares of its script.

The service checks their names (functions/core/pipeline/script/placeholders.ts); here are the paths.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

Argument = str | list[str]
"""One argument, or several that are left out together."""

HYPERPARAMETERS = "${hyperparameters}"
_TOKEN = re.compile(r"\$\$|\$\{([^{}]*)\}")


class UnknownPlaceholderError(Exception):
    """A placeholder whose path this host does not know."""


def expand(text: str, paths: Mapping[str, str]) -> str:
    """`$$` is one dollar sign, and a `$` before anything else but `{` is itself."""

    def replacement(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        path = paths.get(match[1])
        if path is None:
            raise UnknownPlaceholderError(f"{match[0]}: this host knows {', '.join(paths)}")
        return path

    return _TOKEN.sub(replacement, text)


def expand_arguments(
    arguments: Sequence[Argument], paths: Mapping[str, str], hyperparameters: Sequence[str]
) -> list[str]:
    """The arguments of this host. Raises UnknownPlaceholderError."""
    expanded: list[str] = []
    for argument in arguments:
        if argument == HYPERPARAMETERS:
            expanded += hyperparameters
            continue
        parts = [argument] if isinstance(argument, str) else argument
        texts = [_argument(part, paths) for part in parts]
        if None not in texts:
            expanded += [text for text in texts if text is not None]
    return expanded


def _argument(text: str, paths: Mapping[str, str]) -> str | None:
    """None for an argument that ends with `?` and whose path is not there."""
    first = next((m for m in _TOKEN.finditer(text) if m[0] != "$$"), None)
    if first is None or not text.endswith("?"):
        return expand(text, paths)
    if text.endswith("??"):
        return expand(text[:-1], paths)
    return expand(text[:-1], paths) if _is_there(expand(text[first.start() : -1], paths)) else None


def _is_there(path: str) -> bool:
    """An empty folder counts as none: the agent makes the folders before the script starts."""
    place = Path(path)
    try:
        return any(place.iterdir()) if place.is_dir() else place.exists()
    except OSError:
        return False
