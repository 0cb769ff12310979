"""The run's series: one file an attempt, beside the checkpoints, that only grows.

`tidewheel-series/attempt-<n>.jsonl` holds a line for each start of the script and one for each
point that is recorded. The service joins the files (functions/records/series.ts).
"""

import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tidewheel_contract.documents import SeriesPoint, SeriesStart, SeriesStartResumedFrom
from tidewheel_contract.reading import line_of, path_in

from ..files import append_line
from ..log import log
from .point import Point, Unit

_LEAST_SECONDS = 2.0
_POINTS_PER_DOUBLING = 1500
"""Points of one series come ever further apart: some 12,000 in 28 days."""
_MOST_SERIES = 200
_MOST_BYTES = 16 * 1024 * 1024
_LONGEST_NAME = 120


@dataclass
class _Newest:
    """The newest point of a series, and when the last one was written."""

    position: float
    value: float
    at: float
    written_at: float
    is_written: bool


class SeriesRecorder:
    """Takes points from several threads; appends them, and drops what comes too often."""

    def __init__(
        self, folder: Path, attempt: int, resumed_from: SeriesStartResumedFrom | None
    ) -> None:
        """`resumed_from`: the checkpoint that was there."""
        self._path = path_in(folder, SeriesStart, attempt=attempt)
        self._started_at = time.time()
        self._lock = threading.Lock()
        self._newest: dict[tuple[str, Unit, str], _Newest] = {}
        self._is_open = True
        self._bytes = 0
        self._write(SeriesStart(started_at=round(self._started_at, 3), resumed_from=resumed_from))

    def add(self, source: str, point: Point) -> dict[str, float]:
        """`source` says how the script tells its points. Returns the values that are new."""
        at = point.at if point.at is not None else time.time()
        if not math.isfinite(point.position) or not math.isfinite(at):
            return {}
        with self._lock:
            values = {n: v for n, v in point.values.items() if self._is_new(source, point, n, v)}
            keys = {name: (source, point.unit, name) for name in values}
            # Values of one line stay together.
            is_due = any(self._is_due(self._newest.get(key), at) for key in keys.values())
            for name, key in keys.items():
                last = self._newest.get(key)
                written_at = last.written_at if last and not is_due else at
                self._newest[key] = _Newest(
                    point.position, values[name], at, written_at, is_written=is_due
                )
            if is_due:
                self._append(source, point.unit, point.position, at, values)
            return values

    def furthest(self) -> tuple[float, Unit]:
        """Where the training stands: the newest position, of steps where there are any."""
        with self._lock:
            seen = [(unit == "step", last.position) for (_, unit, _), last in self._newest.items()]
        is_step, position = max(seen, default=(True, 0.0))
        return position, "step" if is_step else "epoch"

    def close(self) -> None:
        """Appends the last point of each series, however soon it came after the one before."""
        with self._lock:
            for (source, unit, name), last in self._newest.items():
                if not last.is_written:
                    self._append(source, unit, last.position, last.at, {name: last.value})
                    last.is_written = True

    def _is_new(self, source: str, point: Point, name: str, value: float) -> bool:
        """In one series positions only rise. At the same one, the last value counts."""
        last = self._newest.get((source, point.unit, name))
        if last is None:
            return len(self._newest) < _MOST_SERIES and len(name) <= _LONGEST_NAME
        changes = repr(value) != repr(last.value)
        if point.position == last.position or point.shows_again:
            return changes and point.position >= last.position
        return point.position > last.position

    def _is_due(self, last: _Newest | None, at: float) -> bool:
        if self._bytes > _MOST_BYTES:
            return False
        age = max(0.0, at - self._started_at)
        seconds = max(_LEAST_SECONDS, age / _POINTS_PER_DOUBLING)
        return last is None or at - last.written_at >= seconds

    def _append(
        self, source: str, unit: Unit, position: float, at: float, values: Mapping[str, float]
    ) -> None:
        rounded = {n: float(f"{v:.7g}") if math.isfinite(v) else None for n, v in values.items()}
        point = SeriesPoint(
            source=source, unit=unit, position=position, at=round(at, 3), values=rounded
        )
        self._write(point)

    def _write(self, line: SeriesStart | SeriesPoint) -> None:
        """A whole line or nothing; a reader skips a line that a kill has cut short."""
        if not self._is_open:
            return
        try:
            size = append_line(self._path, line_of(line))
        except OSError as error:
            log(f"cannot write {self._path.name}: {error}")
            self._is_open = False
            return
        if size > _MOST_BYTES >= self._bytes:
            log(f"{self._path.name} has {_MOST_BYTES} bytes: only last points are still kept")
        self._bytes = size
