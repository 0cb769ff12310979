"""msgpack, of Flax and spaCy: the document must end where the file ends.

Format: https://github.com/msgpack/msgpack/blob/master/spec.md
"""

from pathlib import Path

from .step_names import Reading

_LARGEST_FILE = 256 * 1024 * 1024
_FIXED_BYTES = {0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8}
_FIXED_BYTES |= {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}
_FIXED_BYTES |= {0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}
_LENGTH_BYTES = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4, 0xC7: 1, 0xC8: 2, 0xC9: 4}
_COUNT_BYTES = {0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}
_EXTENSIONS, _MAPS = (0xC7, 0xC8, 0xC9), (0xDE, 0xDF)


def read_msgpack(path: Path) -> Reading | None:
    """None for a file that is too large to be read."""
    if path.stat().st_size > _LARGEST_FILE:
        return None
    content = path.read_bytes()
    try:
        end = _end_of(content)
    except (IndexError, KeyError):
        return Reading(f"{path.name} is cut off")
    return Reading("" if end == len(content) else f"{path.name} has {len(content)} of {end} bytes")


def _end_of(content: bytes) -> int:
    """Raises IndexError where the content ends first, KeyError for what is no msgpack."""
    at, left = 0, 1
    while left:
        code = content[at]
        at, left = at + 1, left - 1
        if code < 0x80 or code >= 0xE0:
            continue
        if code < 0xA0:
            left += (code & 15) * (2 if code < 0x90 else 1)
        elif code < 0xC0:
            at += code & 31
        elif code in _COUNT_BYTES:
            count = int.from_bytes(content[at : at + _COUNT_BYTES[code]], "big")
            at += _COUNT_BYTES[code]
            left += count * (2 if code in _MAPS else 1)
        elif code in _LENGTH_BYTES:
            length = int.from_bytes(content[at : at + _LENGTH_BYTES[code]], "big")
            at += _LENGTH_BYTES[code] + length + (code in _EXTENSIONS)
        else:
            at += _FIXED_BYTES[code]
    return at
