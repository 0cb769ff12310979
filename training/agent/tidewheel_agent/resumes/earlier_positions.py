"""Where the script's output stood in earlier starts, from the run's series files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tidewheel_contract.documents import SeriesPoint
from tidewheel_contract.reading import parse

_SOURCE = "log"
_CLOCK_SECONDS = 1.0


@dataclass(frozen=True)
class Earlier:
    """Positions of one unit (`step` or `epoch`), as the script prints them."""

    first: float
    """Of the run's first start."""
    expected: float
    """Where the script stood when the checkpoint was saved; without one, where it stood last."""
    count: int
    """Of the points up to there. They are two seconds apart at least, so few are little behind."""


def read_earlier(folder: Path, saved_at: float | None) -> dict[str, Earlier]:
    """By unit. `saved_at`: Unix seconds of the checkpoint that is there, if one is known."""
    points = list(_points(folder))
    found = {}
    for unit in {unit for unit, _, _ in points}:
        own = [(position, at) for u, position, at in points if u == unit]
        limit = float("inf") if saved_at is None else saved_at + _CLOCK_SECONDS
        before = [position for position, at in own if at <= limit]
        if before:
            found[unit] = Earlier(own[0][0], before[-1], len(before))
    return found


def _points(folder: Path) -> Iterator[tuple[str, float, float]]:
    """Unit, position and Unix seconds, in the order in which they were printed."""
    paths = folder.glob(SeriesPoint.FILE.format(attempt="*"))
    for path in sorted(paths, key=lambda each: (len(each.name), each.name)):
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        for line in lines:
            with contextlib.suppress(ValueError):
                point = parse(SeriesPoint, line)
                if point.source == _SOURCE:
                    yield point.unit, point.position, point.at
