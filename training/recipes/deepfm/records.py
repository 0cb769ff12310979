"""Reads and writes TFRecord files of click samples with numpy alone.

A frame (https://www.tensorflow.org/tutorials/load_data/tfrecord) is the length, its masked CRC-32C,
the bytes and their masked CRC-32C, all little-endian. The bytes are a tf.train.Example with `label`
(int64), `ids` (int64, one per field) and `values` (float).
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

HEAD_BYTES = 12
"""Of a frame, before its record."""


@dataclass(frozen=True)
class Click:
    label: int
    ids: list[int]
    values: list[float]


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _crc_table()


def masked_crc(content: bytes) -> int:
    value = 0xFFFFFFFF
    for byte in content:
        value = _TABLE[(value ^ byte) & 0xFF] ^ (value >> 8)
    value ^= 0xFFFFFFFF
    return (((value >> 15) | (value << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def write_file(path: Path, clicks: Iterable[Click]) -> None:
    with path.open("wb") as file:
        for click in clicks:
            content = encode(click)
            length = struct.pack("<Q", len(content))
            file.write(length + struct.pack("<I", masked_crc(length)))
            file.write(content + struct.pack("<I", masked_crc(content)))


def read_positions(path: Path) -> list[tuple[int, int]]:
    """Offset and length of every record. Checks the lengths; `read_clicks` checks the contents."""
    positions = []
    size = path.stat().st_size
    with path.open("rb") as file:
        offset = 0
        while offset < size:
            head = file.read(HEAD_BYTES)
            if len(head) < HEAD_BYTES or struct.unpack("<I", head[8:])[0] != masked_crc(head[:8]):
                raise ValueError(f"{path} is damaged at byte {offset}: fetch or pack it again")
            length = struct.unpack("<Q", head[:8])[0]
            positions.append((offset + HEAD_BYTES, length))
            offset += 16 + length
            file.seek(offset)
        if offset != size:
            raise ValueError(f"{path} ends within a record: fetch or pack it again")
    return positions


def read_clicks(path: Path, positions: Iterable[tuple[int, int]]) -> Iterator[Click]:
    with path.open("rb") as file:
        for offset, length in positions:
            file.seek(offset)
            content = file.read(length)
            if struct.unpack("<I", file.read(4))[0] != masked_crc(content):
                raise ValueError(f"{path} is damaged at byte {offset}: fetch or pack it again")
            yield decode(content)


def encode(click: Click) -> bytes:
    numbers = np.asarray(click.values, "<f4").tobytes()
    features = (
        _entry("ids", _field(3, _field(1, b"".join(map(_varint, click.ids)))))
        + _entry("label", _field(3, _field(1, _varint(click.label))))
        + _entry("values", _field(2, _field(1, numbers)))
    )
    return _field(1, features)


def decode(content: bytes) -> Click:
    """tf.train.Example: features (1), entries (1), key (1) and value (2), lists (2, 3), packed."""
    found: dict[str, bytes] = {}
    for _, features in _fields(content):
        for _, entry in _fields(features):
            parts = dict(_fields(entry))
            for _, numbers in _fields(parts[2]):
                found[parts[1].decode()] = dict(_fields(numbers))[1]
    values: npt.NDArray[np.float32] = np.frombuffer(found["values"], "<f4")
    return Click(_varints(found["label"])[0], _varints(found["ids"]), [float(v) for v in values])


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _entry(key: str, value: bytes) -> bytes:
    return _field(1, _field(1, key.encode()) + _field(2, value))


def _varints(content: bytes) -> list[int]:
    values, position = [], 0
    while position < len(content):
        value, position = _read_varint(content, position)
        values.append(value)
    return values


def _read_varint(content: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7


def _fields(content: bytes) -> list[tuple[int, bytes]]:
    """The length-delimited fields; an Example of packed lists has no others."""
    fields, position = [], 0
    while position < len(content):
        tag, position = _read_varint(content, position)
        if tag & 7 != 2:
            raise ValueError("a list that is not packed: write the records with tf.train.Example")
        length, position = _read_varint(content, position)
        fields.append((tag >> 3, content[position : position + length]))
        position += length
    return fields
