"""TFRecord: the length, its masked CRC-32C, the record and its masked CRC-32C, all little-endian.

Source: tensorflow/core/lib/io/record_writer.h
"""

from __future__ import annotations

import struct
from functools import cache

HEAD_BYTES, FOOT_BYTES = 12, 4


def framed(record: bytes) -> bytes:
    length = struct.pack("<Q", len(record))
    return length + _masked_crc(length) + record + _masked_crc(record)


def length_of(head: bytes) -> int | None:
    """Of the record that follows; None where `head` is no head."""
    if len(head) < HEAD_BYTES or head[8:] != _masked_crc(head[:8]):
        return None
    return int.from_bytes(head[:8], "little")


def is_whole(record: bytes, foot: bytes) -> bool:
    """Takes a second for some 10 MB."""
    return foot == _masked_crc(record)


@cache
def _table() -> list[int]:
    table = list(range(256))
    for _ in range(8):
        table = [value >> 1 ^ (0x82F63B78 if value & 1 else 0) for value in table]
    return table


def _masked_crc(content: bytes) -> bytes:
    table, value = _table(), 0xFFFFFFFF
    for byte in content:
        value = table[(value ^ byte) & 0xFF] ^ (value >> 8)
    value ^= 0xFFFFFFFF
    return struct.pack("<I", ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF)
