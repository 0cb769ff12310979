"""Points of scripts whose only position is a progress bar of tqdm.

`training:  12%|#2  | 12/100 [00:10<01:15, loss=0.4]`, or lines below it (`training loss: 0.4`). A
bar moves seldom: a line belongs to its position as long as no name has come twice below it.
"""

from __future__ import annotations

import re

from .metric_names import metrics_in
from .point import Point

_BAR = re.compile(r"(?:^|(.{1,120}?):?\s)\s*\d{1,3}%\|[^|]{0,200}\|\s*(\d{1,9})/(\d{1,9})\s\[(.*)")
_NUMBERS = re.compile(r"[-+]?[\d.]+(?:[eE][-+]?\d+)?")
_ASIDE = re.compile(
    r"eval|val|test|predict|infer|sampl|generat|load|fetch|map|filter|token|prepar|proce",
    re.IGNORECASE,
)
_PAIR = (
    r"(?:(?:train(?:ing)?|val(?:id(?:ation)?)?|test|eval|mean|avg|running) )?"
    r"[A-Za-z_][\w@./-]{0,40}\s*[:=]\s*[-+]?(?:nan|inf|[\d.]+(?:e[-+]?\d+)?%?)"
)
PAIRS = re.compile(rf"{_PAIR}(?:[\s,;|]+{_PAIR})*", re.IGNORECASE)


class Bars:
    """Gives nothing where bars are nested or begin again: those do not count the run's steps."""

    def __init__(self, from_step: float) -> None:
        """`from_step`: of the checkpoint that was there. A bar that begins below it does not count
        the run's steps."""
        self._from_step = from_step
        self._is_off = False
        self._bar: tuple[str, int] | None = None
        self._position = -1
        self._below: set[str] = set()
        """Names that have come since the bar moved."""
        self._is_stale = True
        self._has_points = False

    def read(self, line: str) -> Point | None:
        if self._is_off:
            return None
        match = _BAR.match(line)
        if match is not None:
            values = self._moved(match)
        elif self._is_stale or not PAIRS.fullmatch(line):
            return None
        else:
            values = metrics_in(line, with_sign=True)
            self._is_stale = not self._below.isdisjoint(values)
            self._below.update(values)
        if not values or self._is_off or self._is_stale:
            return None
        self._has_points = True
        return Point(self._position, values)

    def _moved(self, match: re.Match[str]) -> dict[str, float]:
        name, done, total = match[1] or "", int(match[2]), int(match[3])
        if _ASIDE.search(name):
            return {}
        bar = _NUMBERS.sub("", name), total
        is_new = bar != self._bar
        if is_new:
            self._is_off = self._has_points or done < self._from_step - 1
            self._bar, self._position = bar, -1
        self._is_off |= done < self._position or "epoch" in name.lower()
        if done > self._position:
            # A bar that is full at first sight may be anything.
            self._position, self._is_stale = done, is_new and done == total
            self._below.clear()
        return metrics_in(f"{name}, {match[4]}", with_sign=True)
