"""Protocol buffers' wire format, as far as log files need it.

Source: https://protobuf.dev/programming-guides/encoding/
"""

from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_VARINT_BITS = 64


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field: an int for a varint, the raw bytes for all others.

    Raises ValueError for bytes that are no message.
    """
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if kind == _BYTES:
            size, at = _varint(message, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise ValueError(f"wire type {kind}")
        if at + size > len(message):
            raise ValueError("the message ends inside a field")
        yield number, message[at : at + size]
        at += size


def signed(varint: int) -> int:
    """An int64, which a varint holds as 64 unsigned bits."""
    return varint - (1 << 64) if varint >= 1 << 63 else varint


def varint(value: int) -> bytes:
    """The encoding of an integer that is not negative."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < _VARINT_BITS:
        if at >= len(message):
            raise ValueError("the message ends inside a number")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("a number of more than 64 bits")
