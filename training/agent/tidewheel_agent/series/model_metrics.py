"""The numbers of a `metrics.json` that the script left beside its model."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ..log import log

NAME = "metrics.json"
_LARGEST = 256 * 1024
_MOST_VALUES = 100
_DEPTH = 4


def model_metrics(folder: Path) -> dict[str, float]:
    """By their names; those of an object within are joined by dots. Empty without such a file.

    A script may have put anything there, and a pipe or a link would hang or show another file.
    """
    try:
        text = _read(folder / NAME)
        if text is None:
            return {}
        found = list(_numbers("", json.loads(text), _DEPTH))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        log(f"cannot read {NAME} of the model: {error}")
        return {}
    if len(found) > _MOST_VALUES:
        log(f"{NAME} of the model has {len(found)} numbers: the first {_MOST_VALUES} are kept")
    return dict(found[:_MOST_VALUES])


def _read(path: Path) -> str | None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        log(f"{NAME} of the model has more than {_LARGEST} bytes: it is not read")
        return None
    return data.decode("utf-8")


def _numbers(name: str, value: object, depth: int) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        if depth > 0:
            for key, each in value.items():
                yield from _numbers(f"{name}.{key}" if name else key, each, depth - 1)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if not name or not name.isprintable():
            return
        try:
            yield name, float(value)
        except OverflowError:  # an integer beyond any float
            return
