"""Makes dataclasses of the classes in `documents.py` when they are first used.

Making one takes 0.8 ms, there are fifty, and a process uses few of them: each rank imports them.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_DECLARED: dict[type, dict[str, bool]] = {}
"""Each class with the options of its decorator."""
_MADE: set[type] = set()
_making = threading.Lock()


def dataclass(**options: bool) -> Callable[[type[T]], type[T]]:
    """Stands in for `dataclasses.dataclass`, with the same result."""

    def create(cls: type[T], *_: object, **__: object) -> T:
        return object.__new__(made(cls))

    def declare(kind: type[T]) -> type[T]:
        # Python looks for __init__ when this has returned.
        kind.__new__ = create  # type: ignore[method-assign]
        _DECLARED[kind] = options
        return kind

    return declare


def is_declared(kind: type) -> bool:
    return kind in _DECLARED


def made(kind: type[T]) -> type[T]:
    """Leaves other classes as they are."""
    if kind in _DECLARED and kind not in _MADE:
        with _making:
            if kind not in _MADE:
                dataclasses.dataclass(**_DECLARED[kind])(kind)
                _MADE.add(kind)
    return kind
