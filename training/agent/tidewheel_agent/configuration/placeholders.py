"""Placeholders such as `${checkpoints}` in what a pipeline declares of its script.

The service checks their names (packages/declaration/script/placeholders.ts); here are the paths.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
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
    arguments: Sequence[Argument],
    paths: Mapping[str, str],
    hyperparameters: Sequence[str],
    newest: Mapping[str, str],
) -> list[str]:
    """The arguments of this host. Raises UnknownPlaceholderError.

    `newest`: for each of the arguments' `checkpoint_patterns` that finds one, the name of the
    newest checkpoint.
    """
    expanded: list[str] = []
    for argument in arguments:
        if argument == HYPERPARAMETERS:
            expanded += hyperparameters
            continue
        parts = [argument] if isinstance(argument, str) else argument
        texts = [_argument(part, paths, newest) for part in parts]
        if None not in texts:
            expanded += [text for text in texts if text is not None]
    return expanded


def checkpoint_patterns(arguments: Sequence[Argument]) -> Iterator[str]:
    """Those that ask for the newest checkpoint, such as `epoch_*.pt` of
    `--resume=${checkpoints}/epoch_*.pt?`."""
    for argument in arguments:
        for text in [argument] if isinstance(argument, str) else argument:
            place = _optional_place(text)
            if place is not None and (pattern := _pattern(text, place)):
                yield pattern


def _argument(text: str, paths: Mapping[str, str], newest: Mapping[str, str]) -> str | None:
    """None for an argument that ends with `?` and whose path is not there."""
    place = _optional_place(text)
    if place is None:
        return expand(text[:-1] if _ends_as_typed(text) else text, paths)
    if pattern := _pattern(text, place):
        name = newest.get(pattern)
        return None if name is None else f"{expand(text[: place.end()], paths)}/{name}"
    return expand(text[:-1], paths) if _is_there(expand(text[place.start() : -1], paths)) else None


def _optional_place(text: str) -> re.Match[str] | None:
    """The placeholder of an argument that may be left out."""
    return _first_place(text) if text.endswith("?") and not text.endswith("??") else None


def _ends_as_typed(text: str) -> bool:
    """`??` at the end is one question mark."""
    return text.endswith("??") and _first_place(text) is not None


def _first_place(text: str) -> re.Match[str] | None:
    return next((m for m in _TOKEN.finditer(text) if m[0] != "$$"), None)


def _pattern(text: str, place: re.Match[str]) -> str | None:
    """What follows the checkpoint folder, where it has a `*`."""
    below = text[place.end() : -1]
    if place[1] != "checkpoints" or "*" not in below or not below.startswith("/"):
        return None
    return expand(below[1:], {})


def _is_there(path: str) -> bool:
    """An empty folder counts as none: the agent makes the folders before the script starts."""
    place = Path(path)
    try:
        return any(place.iterdir()) if place.is_dir() else place.exists()
    except OSError:
        return False
