"""What all ranks of a gang hold alike: only the first rank saves it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..journal import RefusedError

Copy = Callable[[str, Any], Any]
"""Of the value of an attribute."""


class Replicated:
    """`value` is None in the files of the other ranks."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __tidewheel_copy__(self, copy: Copy) -> Replicated:
        """See tidewheel/_state_copy.py."""
        return Replicated(copy("value", self.value))


def whole(value: Any) -> Any:
    """The value itself, replicated or not."""
    return value.value if isinstance(value, Replicated) else value


def leave_out(objects: dict[Any, Any]) -> None:
    """Before the file of a rank that is not the first."""
    for _, value in all_replicated(objects):
        value.value = None


def fill_in(objects: dict[Any, Any], first: dict[Any, Any]) -> None:
    """`first`: the first rank's objects. Raises RefusedError where one is missing there."""
    there = dict(all_replicated(first))
    for path, value in all_replicated(objects):
        if value.value is None:
            if path not in there:
                raise RefusedError(f"the first rank has saved nothing for {path}")
            value.value = there[path].value


def all_replicated(objects: dict[Any, Any]) -> Iterator[tuple[Any, Replicated]]:
    for path, value in objects.items():
        if isinstance(value, Replicated):
            yield path, value
        elif isinstance(value, list):
            for number, group in enumerate(value):
                states = group[1] if isinstance(group, tuple) and len(group) == 2 else []
                for index, state in enumerate(states if isinstance(states, list) else []):
                    if isinstance(state, Replicated):
                        yield (path, number, index), state
