"""The run's series: one file an attempt, beside the checkpoints, that only grows.

`tidewheel-series/attempt-<n>.jsonl` holds a line for each start of the script and one for each
point that is kept. The service joins the files (functions/core/runs/series.ts).
"""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

from ..checkpoints.note import SERIES_FOLDER
from ..files import append_line
from ..log import log
from .point import Point

_LEAST_SECONDS = 2.0
_POINTS_PER_DOUBLING = 1500
"""Points of one series come ever further apart: some 12,000 in 28 days."""
_MOST_SERIES = 200
_MOST_BYTES = 16 * 1024 * 1024
_LONGEST_NAME = 120


class SeriesRecorder:
    """Takes points from several threads; appends them, and drops what comes too often."""

    def __init__(self, folder: Path, attempt: int, resumed_from: dict[str, float] | None) -> None:
        """`resumed_from`: step, and Unix seconds in `savedAt`, of the checkpoint that was there."""
        self._path = folder / SERIES_FOLDER / f"attempt-{attempt}.jsonl"
        self._started_at = time.time()
        self._lock = threading.Lock()
        self._last: dict[tuple[str, str, str], tuple[float, float]] = {}
        self._waiting: dict[str, tuple[Point, float]] = {}
        self._is_open = True
        self._bytes = 0
        self._write({"startedAt": round(self._started_at, 3), "resumedFrom": resumed_from})

    def add(self, source: str, point: Point) -> dict[str, float]:
        """`source` says how the script tells its points. Returns the values that are new."""
        at = point.at if point.at is not None else time.time()
        with self._lock:
            newer = self._newer(source, point)
            due = {n: v for n, v in newer.items() if self._is_due(source, point, n, at)}
            if not due:
                if newer:
                    self._waiting[source] = (point, at)
                return newer
            # Values of one line stay together.
            for name in newer:
                self._last[source, point.unit, name] = (point.position, at)
            self._waiting.pop(source, None)
            self._append(source, point, newer, at)
            return newer

    def close(self) -> None:
        """Appends the last points, however soon they came after the ones before."""
        with self._lock:
            for source, (point, at) in self._waiting.items():
                self._append(source, point, self._newer(source, point), at)
            self._waiting.clear()

    def _newer(self, source: str, point: Point) -> dict[str, float]:
        """In one series positions only rise."""
        found = {}
        for name, value in point.values.items():
            key = (source, point.unit, name)
            last = self._last.get(key)
            known = last is not None or len(self._last) < _MOST_SERIES
            if known and len(name) <= _LONGEST_NAME and (last is None or point.position > last[0]):
                found[name] = value
        return found

    def _is_due(self, source: str, point: Point, name: str, at: float) -> bool:
        last = self._last.get((source, point.unit, name))
        age = max(0.0, at - self._started_at)
        return last is None or at - last[1] >= max(_LEAST_SECONDS, age / _POINTS_PER_DOUBLING)

    def _append(self, source: str, point: Point, values: dict[str, float], at: float) -> None:
        if values:
            self._write(
                {
                    "source": source,
                    "unit": point.unit,
                    "position": point.position,
                    "at": round(at, 3),
                    "values": {name: float(f"{value:.7g}") for name, value in values.items()},
                }
            )

    def _write(self, line: dict[str, object]) -> None:
        """A whole line or nothing; a reader skips a line that a kill has cut short."""
        if not self._is_open:
            return
        try:
            self._bytes = append_line(self._path, json.dumps(line, separators=(",", ":")))
        except OSError as error:
            log(f"cannot write {self._path.name}: {error}")
            self._is_open = False
        if self._bytes > _MOST_BYTES:
            log(f"{self._path.name} has {_MOST_BYTES} bytes: no more points are kept")
            self._is_open = False
