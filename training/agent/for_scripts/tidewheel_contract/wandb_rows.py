"""W&B's rows as scripts keep them for the next attempt, and as the agent hands them back.

A file holds frames: step (int64), Unix seconds (float64), length and CRC-32 (uint32) of what
follows, little-endian, and a PartialHistoryRequest of wandb/proto/wandb_internal.proto. Scripts
write `<id>.<process>.<0 or 1>.rows`, where `<id>` is the run's with `_` for all but letters,
digits, `-` and `_`. The agent writes `<id>.again` for the next attempt: what W&B's files lack, and
a last frame that is empty and has the step at which the run counts on.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_HEAD = struct.Struct("<qdII")


class Row(NamedTuple):
    """A request that the script sent to W&B's process; several may belong to one step."""

    step: int
    at: float
    message: bytes

    def frame(self) -> bytes:
        head = _HEAD.pack(self.step, self.at, len(self.message), zlib.crc32(self.message))
        return head + self.message


def file_name(run_id: str) -> str:
    """W&B allows more characters in an id than a file's name."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", run_id)


def read_rows(path: Path) -> Iterator[Row]:
    """Ends at the first frame that a kill cut short. Raises OSError."""
    data, at = path.read_bytes(), 0
    while at + _HEAD.size <= len(data):
        step, moment, length, checksum = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        message = data[at : at + length]
        if len(message) < length or zlib.crc32(message) != checksum:
            return
        yield Row(step, moment, message)
        at += length
