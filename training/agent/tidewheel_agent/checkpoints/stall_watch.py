"""Watches that checkpoints keep coming: silence here has cost users days of training.

Fed with what is seen and when, it returns what there is to say; it has no clock and no disk.
"""

from __future__ import annotations

from .checkpoint import Checkpoint

_TELL_SECONDS = 60.0
_LEAST_PATIENCE_SECONDS = 120.0
_FIRST_PATIENCE_SECONDS = 1800.0
_PATIENCE_INTERVALS = 3.0


class CheckpointWatch:
    """`told_seconds` is the interval that the service computed, if it did."""

    def __init__(self, started_at: float, told_seconds: float | None) -> None:
        self._told_seconds = told_seconds
        self._since = started_at
        self._seen: Checkpoint | None = None
        self._mean_seconds: float | None = None
        self._warn_after = self._patience()
        self._next_tell = started_at + _TELL_SECONDS
        self._save_seconds: float | None = None
        self.count = 0
        self.stalls = 0

    def observe(
        self, now: float, newest: Checkpoint | None, save_seconds: float | None = None
    ) -> list[str]:
        """`now` and the times of checkpoints are seconds of one clock; `save_seconds` is how long
        a save takes, where that is known. Returns lines to say."""
        lines: list[str] = []
        if newest is not None and newest != self._seen:
            self._take(now, newest)
        self._save_seconds = save_seconds
        age = now - self._since
        if age >= self._warn_after:
            self.stalls += 1
            self._warn_after = 2 * age
            usual = self._told_seconds or self._mean_seconds
            expected = f", expected every {usual:.0f} s" if usual else ""
            lines.append(
                f"WARNING: no new complete checkpoint for {age:.0f} s{expected}: "
                "work since then is lost if capacity is taken away now"
            )
        if now >= self._next_tell:
            self._next_tell = now + _TELL_SECONDS
            if self._seen is not None:
                lines.append(
                    f"checkpoint age_seconds={age:.0f} step={self._seen.step} "
                    f"size_bytes={self._seen.size_bytes}"
                    + ("" if save_seconds is None else f" save_seconds={save_seconds:.3g}")
                )
        return lines

    def _take(self, now: float, newest: Checkpoint) -> None:
        if self._seen is not None:
            interval = now - self._since
            mean = self._mean_seconds
            self._mean_seconds = interval if mean is None else 0.7 * mean + 0.3 * interval
        self.count += 1
        self._seen = newest
        self._since = now
        self._warn_after = self._patience()

    def _patience(self) -> float:
        usual = self._told_seconds or self._mean_seconds
        if usual is None:
            return _FIRST_PATIENCE_SECONDS
        return max(_LEAST_PATIENCE_SECONDS, _PATIENCE_INTERVALS * usual)

    def document(self) -> dict[str, object]:
        return {
            "count": self.count,
            "meanIntervalSeconds": None
            if self._mean_seconds is None
            else round(self._mean_seconds, 1),
            "saveSeconds": None if self._save_seconds is None else round(self._save_seconds, 3),
            "sizeBytes": self._seen.size_bytes if self._seen else None,
            "stalls": self.stalls,
        }
