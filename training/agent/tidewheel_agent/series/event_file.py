"""TensorBoard's event files: TFRecord framing around `Event` messages.

Sources: tensorboard/compat/proto/event.proto and summary.proto. Both PyTorch's and TensorFlow's
writers are read.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tidewheel_contract.tfrecord import FOOT_BYTES, HEAD_BYTES, framed

from .point import Point
from .protobuf import fields, signed, varint

EVENT_FILES = "events.out.tfevents."
"""How the name of every event file begins."""
_LARGEST_RECORD = 256 * 1024
"""A scalar takes some 60 bytes. Images, graphs and histograms are passed over."""
_START = 1
"""SessionLog.START."""
_DT_FLOAT, _DT_DOUBLE = 1, 2


@dataclass(frozen=True)
class Restart:
    """TensorBoard forgets all events read so far whose step is at least this."""

    step: int


class EventFile:
    """One file that another process appends to."""

    def __init__(self, path: Path, offset: int = 0) -> None:
        self._path = path
        self._offset = offset

    def read(self) -> Iterator[Point]:
        """The scalars of all whole records since the last call. Raises OSError."""
        return (event for event in self.events() if isinstance(event, Point))

    def events(self) -> Iterator[Point | Restart]:
        """Scalars and restarts of all whole records since the last call. Raises OSError."""
        with self._path.open("rb") as file:
            file.seek(self._offset)
            while (record := self._next(file)) is not None:
                try:
                    event = _event(record)
                except (ValueError, struct.error):
                    continue
                if event is not None:
                    yield event

    def _next(self, file: BinaryIO) -> bytes | None:
        """The next record, or nothing in place of a large one; None at the end."""
        header = file.read(HEAD_BYTES)
        if len(header) < HEAD_BYTES:
            return None
        (length,) = struct.unpack_from("<Q", header)
        if length > _LARGEST_RECORD:
            end = self._offset + HEAD_BYTES + length + FOOT_BYTES
            if end > self._path.stat().st_size:
                return None
            file.seek(end)
            self._offset = end
            return b""
        record = file.read(length + FOOT_BYTES)
        if len(record) < length + FOOT_BYTES:
            return None
        self._offset += HEAD_BYTES + length + FOOT_BYTES
        return record[:length]


def _event(record: bytes) -> Point | Restart | None:
    wall, step = None, 0
    values: dict[str, float] = {}
    for number, value in fields(record):
        if number == 1 and isinstance(value, bytes):
            (wall,) = struct.unpack("<d", value)
        elif number == 2 and isinstance(value, int):
            step = signed(value)
        elif number == 5 and isinstance(value, bytes):
            values |= _summary(value)
        elif number == 7 and isinstance(value, bytes) and (1, _START) in fields(value):
            return Restart(step)
    return Point(step, values, at=wall) if values else None


def _summary(message: bytes) -> dict[str, float]:
    values: dict[str, float] = {}
    for number, value in fields(message):
        if number != 1 or not isinstance(value, bytes):
            continue
        tag, scalar = "", None
        for inner, content in fields(value):
            if inner == 1 and isinstance(content, bytes):
                tag = content.decode("utf-8", "replace")
            elif inner == 2 and isinstance(content, bytes):
                (scalar,) = struct.unpack("<f", content)
            elif inner == 8 and isinstance(content, bytes):
                scalar = _tensor(content)
        if tag and scalar is not None:
            values[tag] = scalar
    return values


def _tensor(message: bytes) -> float | None:
    """The value of a tensor that holds one floating-point number, as TensorFlow 2 writes them."""
    kind, content = 0, b""
    for number, value in fields(message):
        if number == 1 and isinstance(value, int):
            kind = value
        elif number in (4, 5, 6) and isinstance(value, bytes):
            content = value
    form = {_DT_FLOAT: "<f", _DT_DOUBLE: "<d"}.get(kind)
    if form is None or len(content) != struct.calcsize(form):
        return None
    (scalar,) = struct.unpack(form, content)
    return float(scalar)


def session_start(step: int, at: float) -> bytes:
    """A whole event file by which TensorBoard forgets earlier events from `step` on.

    It holds a `SessionLog` with status START, as writers make of their argument `purge_step`.
    """
    version = b"brain.Event:2"
    wall = b"\x09" + struct.pack("<d", at)
    first = wall + b"\x1a" + bytes([len(version)]) + version
    restart = wall + b"\x10" + varint(step) + b"\x3a\x02\x08\x01"
    return framed(first) + framed(restart)
