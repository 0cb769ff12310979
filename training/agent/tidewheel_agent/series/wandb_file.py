"""The transaction log of Weights & Biases, `run-<id>.wandb`, online and offline.

Framing: LevelDB's log format behind a header of seven bytes
(https://github.com/google/leveldb/blob/main/doc/log_format.md). Messages: `Record` in
wandb/proto/wandb_internal.proto, of which field 2 is a row of the history.
"""

import json
import math
import struct
from collections.abc import Iterator
from pathlib import Path

from .point import Point
from .protobuf import fields, signed

_IDENT = b":W&B"
_FILE_HEADER = 7
_BLOCK = 32 * 1024
_FRAME_HEADER = 7
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_LARGEST_RECORD = 1024 * 1024
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class WandbFile:
    """One file that another process appends to."""

    def __init__(self, path: Path, offset: int = 0) -> None:
        self._path = path
        self._offset = offset

    def read(self) -> Iterator[Point]:
        """The rows of the history since the last call. Raises OSError."""
        for _, point in self.rows():
            yield point

    def rows(self) -> Iterator[tuple[int, Point]]:
        """Each row since the last call, with the offset at which its record begins."""
        with self._path.open("rb") as file:
            if self._offset == 0:
                if file.read(_FILE_HEADER)[:4] != _IDENT:
                    return
                self._offset = _FILE_HEADER
            file.seek(self._offset)
            data = file.read()
        base = self._offset
        for start, end, record in _records(data, base):
            self._offset = end
            try:
                point = _history(record)
            except (ValueError, RecursionError):
                continue
            if point is not None:
                yield start, point


def _records(data: bytes, base: int) -> Iterator[tuple[int, int, bytes]]:
    """Begin and end in the file, and content, of each whole record in `data`, read at `base`."""
    at, start, parts = 0, 0, b""
    while True:
        left = _BLOCK - (base + at) % _BLOCK
        if left < _FRAME_HEADER:
            at += left
            continue
        if at + _FRAME_HEADER > len(data):
            return
        length, kind = struct.unpack_from("<HB", data, at + 4)
        end = at + _FRAME_HEADER + length
        if kind not in (_FULL, _FIRST, _MIDDLE, _LAST) or end > len(data):
            return
        if kind in (_FULL, _FIRST):
            start, parts = at, b""
        if len(parts) < _LARGEST_RECORD:
            parts += data[at + _FRAME_HEADER : end]
        at = end
        if kind in (_FULL, _LAST):
            yield base + start, base + at, parts


def _history(record: bytes) -> Point | None:
    row = next((v for number, v in fields(record) if number == 2 and isinstance(v, bytes)), None)
    if row is None:
        return None
    step, values = None, dict[str, float]()
    for number, value in fields(row):
        if number == 1 and isinstance(value, bytes):
            values |= _item(value)
        elif number == 2 and isinstance(value, bytes):
            step = next((signed(n) for k, n in fields(value) if k == 1 and isinstance(n, int)), 0)
    at = values.pop("_timestamp", None)
    values.pop("_runtime", None)
    own = values.pop("_step", None)
    if step is None and own is not None:
        step = int(own)
    return None if step is None else Point(step, values, at=at)


def _item(message: bytes) -> dict[str, float]:
    name, text = list[str](), b""
    for number, value in fields(message):
        if number in (1, 2) and isinstance(value, bytes):
            name.append(value.decode("utf-8", "replace"))
        elif number == 16 and isinstance(value, bytes):
            text = value
    found = json.loads(text)
    # W&B writes numbers that JSON does not have as texts.
    if isinstance(found, str):
        found = _NOT_FINITE.get(found)
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        return {}
    return {"/".join(name): float(found)}
