"""Warns when a script neither computes nor prints: it bills on, and its checkpoints come no more.

Pure: the caller passes what it has seen, and prints the line that comes back.
"""

from __future__ import annotations

_PATIENCE_SECONDS = 120.0
_IDLE_CPUS = 0.01
"""A process that only waits, such as for a lock or a dead worker, uses less of one CPU."""


class HangWatch:
    def __init__(self, started_at: float) -> None:
        self._since = started_at
        self._warn_after = _PATIENCE_SECONDS
        self.hangs_since: float | None = None
        """When the script last did something, once it has done nothing for long."""
        self._before: tuple[float, float, int] | None = None

    def observe(
        self, now: float, cpu_seconds: float, lines: int, gpu_percent: float | None
    ) -> str | None:
        """`cpu_seconds` of the script's processes and `lines` of its output: totals so far."""
        before = self._before
        self._before = (now, cpu_seconds, lines)
        if before is None:
            self._since = now
            return None
        computed = cpu_seconds - before[1] > _IDLE_CPUS * (now - before[0])
        if computed or lines != before[2] or (gpu_percent or 0.0) > 0.0:
            self._since = now
            self._warn_after = _PATIENCE_SECONDS
            self.hangs_since = None
            return None
        age = now - self._since
        if age < self._warn_after:
            return None
        self._warn_after = 2 * age
        self.hangs_since = self._since
        return (
            f"WARNING: the script has neither computed nor printed anything for {age:.0f} s: it "
            "may hang. A loader's worker may have died, or a rank waits for another"
        )
