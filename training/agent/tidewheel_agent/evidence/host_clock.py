"""The clock of a host that shares its machine with others: what time it would be if the host had
the CPUs of its type. The local region keeps it (emulators/sagemaker/hosts/host_clocks.py)."""

from __future__ import annotations

import struct
from bisect import bisect_right
from pathlib import Path

_PAIR = struct.Struct("=2d")


class HostClock:
    """Maps moments of the monotonic clock to seconds of the host, as the file has said so far."""

    def __init__(self, path: Path) -> None:
        """Raises OSError where the file is not there, ValueError where it holds no two moments."""
        data = path.read_bytes()
        pairs = list(_PAIR.iter_unpack(data[: len(data) - len(data) % _PAIR.size]))
        if len(pairs) < 2:
            raise ValueError(f"{path} holds {len(pairs)} moments")
        self._moments: list[float] = [moment for moment, _ in pairs]
        self._seconds: list[float] = [seconds for _, seconds in pairs]

    def seconds(self, moment: float) -> float:
        """Between two looks it goes evenly, and outside of them as the monotonic clock."""
        after = bisect_right(self._moments, moment)
        if after == 0:
            return self._seconds[0] + moment - self._moments[0]
        if after == len(self._moments):
            return self._seconds[-1] + moment - self._moments[-1]
        begin, end = self._moments[after - 1], self._moments[after]
        share = (moment - begin) / (end - begin)
        return self._seconds[after - 1] * (1 - share) + self._seconds[after] * share

    def covers(self, moment: float) -> bool:
        """Whether it was kept until then. A keeper that failed leaves a clock that has ended."""
        return moment <= self._moments[-1]


def read_clock(path: Path | None) -> HostClock | None:
    """None where the host goes by the machine's clock."""
    try:
        return None if path is None else HostClock(path)
    except (OSError, ValueError):
        return None
