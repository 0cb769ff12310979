"""Rows of a Parquet file with plain, uncompressed, required byte arrays.

By the specification: the footer and the page headers are Thrift structs in the compact protocol.
"""

import struct
from collections.abc import Iterable
from typing import Any

TRUE, FALSE, BYTE, INTEGERS, DOUBLE, BINARY, LISTS, STRUCT = 1, 2, 3, (4, 5, 6), 7, 8, (9, 10), 12


class Thrift:
    """Reads structs as dictionaries by field number."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def integer(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def struct(self) -> dict[int, Any]:
        found: dict[int, Any] = {}
        field = 0
        while (head := self.byte()) != 0:
            field = field + (head >> 4) if head >> 4 else self.integer()
            found[field] = self.value(head & 0x0F)
        return found

    def value(self, kind: int) -> Any:
        if kind in (TRUE, FALSE):
            return kind == TRUE
        if kind == BYTE:
            return self.byte()
        if kind in INTEGERS:
            return self.integer()
        if kind == STRUCT:
            return self.struct()
        if kind in LISTS:
            head = self.byte()
            count = head >> 4 if head >> 4 != 0xF else self.varint()
            return [self.value(head & 0x0F) for _ in range(count)]
        size = 8 if kind == DOUBLE else self.varint()
        self.at += size
        return self.data[self.at - size : self.at]


def column_values(shard: bytes, chunk: dict[int, Any]) -> Iterable[bytes]:
    (column, codec, values, offset) = (chunk[3][field] for field in (3, 4, 5, 9))
    page = Thrift(shard, offset)
    header = page.struct()
    if codec != 0 or header[5][1] != values or header[2] != header[3]:
        raise ValueError(f"column {column} is not one plain page")
    at = page.at
    for _ in range(values):
        (size,) = struct.unpack_from("<I", shard, at)
        yield shard[at + 4 : at + 4 + size]
        at += 4 + size
    if at != page.at + header[3]:
        raise ValueError(f"column {column} has bytes besides its values")


def parquet_rows(shard: bytes) -> Iterable[dict[str, bytes]]:
    (size,) = struct.unpack_from("<I", shard, len(shard) - 8)
    if shard[:4] != b"PAR1" or shard[-4:] != b"PAR1":
        raise ValueError("no Parquet file")
    footer = Thrift(shard, len(shard) - 8 - size).struct()
    rows = 0
    for group in footer[4]:
        names = [chunk[3][3][0].decode() for chunk in group[1]]
        columns = [column_values(shard, chunk) for chunk in group[1]]
        for values in zip(*columns, strict=True):
            rows += 1
            yield dict(zip(names, values, strict=True))
    if rows != footer[3]:
        raise ValueError(f"the footer has {footer[3]} rows, and its groups {rows}")
