"""Step time and samples a second over an interval, for the log, the metrics and the note."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from .point import quantile

_MOST_STEPS = 4096


@dataclass
class _Sums:
    seconds: float = 0.0
    steps: int = 0
    samples: int | None = 0
    """None once an interval did not tell them."""
    durations: deque[float] = field(default_factory=lambda: deque(maxlen=_MOST_STEPS))


class Pace:
    """Filled by the thread that measures, emptied by the one that reports."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums = _Sums()

    def add(
        self, seconds: float, steps: int, samples: int | None, durations: Sequence[float]
    ) -> None:
        if steps == 0:
            return
        with self._lock:
            sums = self._sums
            sums.seconds += seconds
            sums.steps += steps
            known = samples is not None and sums.samples is not None
            sums.samples = (sums.samples or 0) + (samples or 0) if known else None
            sums.durations.extend(durations)

    def take(self) -> dict[str, float]:
        """Means since the last call, by name; empty where no step was seen."""
        with self._lock:
            sums, self._sums = self._sums, _Sums()
        if sums.steps == 0:
            return {}
        values = {"stepsPerSecond": round(sums.steps / sums.seconds, 4)}
        if sums.samples is not None:
            values["samplesPerSecond"] = round(sums.samples / sums.seconds, 4)
        if sums.durations:
            values["stepSeconds"] = round(quantile(sums.durations, 0.5), 6)
            values["stepSecondsP95"] = round(quantile(sums.durations, 0.95), 6)
        return values
