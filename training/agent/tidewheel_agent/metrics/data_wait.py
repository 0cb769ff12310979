"""What the script's processes say of their time: waiting for data, or computing.

Each process of the script that uses `tidewheel.batches` keeps one file of two numbers, which costs
it a microsecond a batch; nothing is said of scripts that do not.
"""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path

WAITS_VARIABLE = "TIDEWHEEL_WAITS_DIR"
_FORMAT = "=dd"


class Waits:
    """Sums over all processes of this host, those that have ended included."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self) -> tuple[float, float] | None:
        """Seconds waited and seconds computed so far; None when no process says so."""
        waited = computed = 0.0
        found = False
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                with contextlib.suppress(OSError, struct.error):
                    pair = struct.unpack_from(_FORMAT, path.read_bytes())
                    waited, computed, found = waited + pair[0], computed + pair[1], True
        return (waited, computed) if found else None
