"""SQLite's databases, such as a study of Optuna.

The header holds the page size, the number of pages, and a counter of changes. A transaction that
has begun leaves a journal with what was there before. Source: https://sqlite.org/fileformat2.html
"""

import struct
from pathlib import Path

from .step_names import Reading

SQLITE_HEAD = b"SQLite format 3\0"
BESIDE_SQLITE = ("-journal", "-wal", "-shm")
_JOURNAL_HEAD = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
_HEADER_BYTES = 100


def read_sqlite(path: Path) -> Reading | None:
    """None where a write-ahead log holds a part of it: it counts once both are quiet."""
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if len(header) < _HEADER_BYTES:
        return Reading(f"{path.name} is cut off inside its header")
    if _size_of(path, "-wal"):
        return None
    if _is_hot(path.with_name(f"{path.name}-journal")):
        return Reading(f"{path.name} has a transaction that is not finished")
    (page_bytes,) = struct.unpack_from(">H", header, 16)
    counter, pages = struct.unpack_from(">2I", header, 24)
    (valid_for,) = struct.unpack_from(">I", header, 92)
    expected, actual = (65_536 if page_bytes == 1 else page_bytes) * pages, path.stat().st_size
    # An old writer leaves the number of pages as it was, and the counters then differ.
    if pages and counter == valid_for and actual != expected:
        return Reading(f"{path.name} has {actual} of {expected} bytes")
    return Reading()


def _is_hot(journal: Path) -> bool:
    """A finished transaction removes it, empties it or overwrites its head with zeros."""
    try:
        with journal.open("rb") as file:
            return file.read(len(_JOURNAL_HEAD)) == _JOURNAL_HEAD
    except OSError:
        return False


def _size_of(path: Path, ending: str) -> int:
    try:
        return path.with_name(f"{path.name}{ending}").stat().st_size
    except OSError:
        return 0
