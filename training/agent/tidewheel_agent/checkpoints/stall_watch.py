"""Warns when checkpoints stop coming: without a warning users have lost days of training.

Pure: the caller passes the time and what it has seen, and prints the lines that come back.
"""

from .checkpoint import Checkpoint

_REPORT_SECONDS = 60.0
_LEAST_PATIENCE_SECONDS = 120.0
_FIRST_PATIENCE_SECONDS = 1800.0
_PATIENCE_INTERVALS = 3.0
_WEIGHT_OF_LAST_INTERVAL = 0.3


class StallWatch:
    """`interval_seconds`: the interval between checkpoints that the service computed, if it did."""

    def __init__(self, started_at: float, interval_seconds: float | None) -> None:
        self._interval_seconds = interval_seconds
        self._since = started_at
        self._newest: Checkpoint | None = None
        self._mean_seconds: float | None = None
        self._warn_after = self._patience()
        self._next_report = started_at + _REPORT_SECONDS
        self._save_seconds: float | None = None
        self.count = 0
        self.stalls = 0

    def observe(
        self, now: float, newest: Checkpoint | None, save_seconds: float | None = None
    ) -> list[str]:
        """Returns the lines to log.

        `now` and the checkpoints' times are seconds of one clock. `save_seconds` is how long a
        save takes, or None while that is unknown.
        """
        lines: list[str] = []
        if newest is not None and newest != self._newest:
            self._record(now, newest)
        self._save_seconds = save_seconds
        age = now - self._since
        if age >= self._warn_after:
            self.stalls += 1
            self._warn_after = 2 * age
            usual = self._interval_seconds or self._mean_seconds
            expected = f", expected every {usual:.0f} s" if usual else ""
            lines.append(
                f"WARNING: no new complete checkpoint for {age:.0f} s{expected}: "
                "work since then is lost if capacity is taken away now"
            )
        if now >= self._next_report:
            self._next_report = now + _REPORT_SECONDS
            if self._newest is not None:
                lines.append(
                    f"checkpoint age_seconds={age:.0f} step={self._newest.step} "
                    f"size_bytes={self._newest.size_bytes}"
                    + ("" if save_seconds is None else f" save_seconds={save_seconds:.3g}")
                )
        return lines

    def _record(self, now: float, newest: Checkpoint) -> None:
        if self._newest is not None:
            interval = now - self._since
            weight = 1.0 if self._mean_seconds is None else _WEIGHT_OF_LAST_INTERVAL
            self._mean_seconds = (1 - weight) * (self._mean_seconds or 0.0) + weight * interval
        self.count += 1
        self._newest = newest
        self._since = now
        self._warn_after = self._patience()

    def _patience(self) -> float:
        usual = self._interval_seconds or self._mean_seconds
        if usual is None:
            return _FIRST_PATIENCE_SECONDS
        return max(_LEAST_PATIENCE_SECONDS, _PATIENCE_INTERVALS * usual)

    def summary(self) -> dict[str, object]:
        """For the host's usage summary."""
        mean, save = self._mean_seconds, self._save_seconds
        return {
            "count": self.count,
            "meanIntervalSeconds": None if mean is None else round(mean, 1),
            "saveSeconds": None if save is None else round(save, 3),
            "sizeBytes": self._newest.size_bytes if self._newest else None,
            "stalls": self.stalls,
        }
