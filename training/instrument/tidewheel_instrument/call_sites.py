"""The script's lines where a remedy belongs: where it makes the loader that it trains from, saves
most, wraps its model.

Each line is a small file, written when it changes; a step costs nothing here.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections import Counter
from collections.abc import Callable
from functools import wraps
from time import monotonic
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary

from .places import place_of, short_line

_MOST_LINES = 200
_THROUGH = ", through "
_FRAMEWORKS = ("", "torch", "keras")
"""A remedy names their calls itself; '': the agent."""


class CallSites:
    """What cannot be found stays unknown: nothing here raises."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._written: dict[str, str] = {}
        self._seconds: Counter[str] = Counter()
        self._made: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._of_data: WeakKeyDictionary[Any, str] = WeakKeyDictionary()

    def made(self, loader: object, frame: FrameType | None) -> None:
        """`frame`: of the call. An iterator is made of its loader."""
        with contextlib.suppress(Exception):
            if loader not in self._made and (line := script_line(frame)) is not None:
                self._made[loader] = line
                # Raises for data that no dictionary takes, such as a list.
                self._made[loader] = self._own_line(loader, line)

    def _own_line(self, loader: Any, line: str) -> str:
        """Accelerate makes the script's loader again, over the same data.

        The remedy belongs where the script makes it, unless two of its lines did.
        """
        own = self._of_data
        if _THROUGH in line:
            return own.get(loader.dataset) or line
        if own.setdefault(loader.dataset, line) != line:
            own[loader.dataset] = ""
        return line

    def iterates(self, loader: object, iterator: object) -> None:
        with contextlib.suppress(Exception):
            if (line := self._made.get(loader)) is not None:
                self._made[iterator] = line

    def trains_from(self, iterator: object) -> str | None:
        try:
            return self._made.get(iterator)
        except Exception:
            return None

    def note(self, call: str, line: str | None) -> None:
        """`call`: loader, save, exchange, shard, fit, pyDataset, map; forward or lines of looks."""
        if line is None or self._written.get(call) == line:
            return
        with contextlib.suppress(Exception):
            self._written[call] = line
            path = os.path.join(self._folder, f"{os.getpid()}.{call}")
            with open(f"{path}.draft", "w", encoding="utf-8") as file:
                file.write(line[:200])
            os.replace(f"{path}.draft", path)

    def note_first(self, call: str, frame: FrameType | None) -> None:
        if call not in self._written:
            self._written[call] = ""
            with contextlib.suppress(Exception):
                self.note(call, script_line(frame))

    def saved(self, began: float, frame: FrameType | None) -> None:
        """Of several lines that save, the one counts that takes longest."""
        with contextlib.suppress(Exception):
            line = script_line(frame)
            if line is not None and (line in self._seconds or len(self._seconds) < _MOST_LINES):
                self._seconds[line] += monotonic() - began  # type: ignore[assignment]
                self.note("save", self._seconds.most_common(1)[0][0])


def notes_construction(
    original: Callable[..., Any], note: Callable[[Any, FrameType | None], None]
) -> Callable[..., Any]:
    """An `__init__`, or what is called once like it, that notes which line calls it."""

    @wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        note(self, sys._getframe(1))

    return init


def script_line(frame: FrameType | None) -> str | None:
    """The innermost line of the script, and the package through which it calls, if any."""
    through = ""
    while frame is not None:
        place, module = place_of(frame.f_code.co_filename)
        if place == "script":
            return short_line(frame) + (f"{_THROUGH}{through}" if through else "")
        if place == "package":
            first = module.partition(".")[0]
            through = first if first not in _FRAMEWORKS else through
        frame = frame.f_back
    return None
