"""How long the script's processes waited for data, and how long they computed.

Each process that uses `tidewheel.batches` keeps one file of two numbers, which costs it a
microsecond a batch. The agent does not guess for scripts that do not use it.
"""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path

_FORMAT = "=dd"


class DataWait:
    """Sums over all processes of this host, also over those that have ended."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self) -> tuple[float, float] | None:
        """Seconds waited and seconds computed so far; None when no process measures them."""
        waited = computed = 0.0
        found = False
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                with contextlib.suppress(OSError, struct.error):
                    pair = struct.unpack_from(_FORMAT, path.read_bytes())
                    waited, computed, found = waited + pair[0], computed + pair[1], True
        return (waited, computed) if found else None
