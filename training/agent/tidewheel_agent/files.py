"""Small files that other processes write and read."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tidewheel_contract.documents import Document
from tidewheel_contract.reading import D, NewerVersionError, changed, parse, text_of

from .log import log

UNREADABLE = (
    OSError,
    ValueError,
    OverflowError,
    KeyError,
    TypeError,
    AttributeError,
    RecursionError,
)
"""What a reader of JSON meets where a script may have written anything: JSON nests without end, and
its numbers may be infinite, or too large for a float."""


_reported: set[tuple[Path, int]] = set()


def read_document(kind: type[D], path: Path) -> D | None:
    """None where there is none, or none that can be read; the log says once which is newer."""
    try:
        return parse(kind, path.read_text(encoding="utf-8"))
    except NewerVersionError as error:
        if (path, error.version) not in _reported:
            _reported.add((path, error.version))
            log(f"WARNING: {path.name}: {error}")
    except (OSError, ValueError):
        pass
    return None


def change_document(path: Path, document: Document) -> None:
    """As `write_document`; fields of the one that is there that this release does not know stay."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        text = ""
    write_atomically(path, changed(text, document))


def write_document(path: Path, document: Document) -> None:
    """As `write_atomically`."""
    write_atomically(path, text_of(document))


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yields a file that takes the place of `path` once it is whole. Raises OSError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            yield file
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def write_atomically(path: Path, text: str) -> None:
    """A reader sees the old file or the new one, never a part of it, even after the host crashes.

    Logs a failure instead of raising it: no such file is worth ending the training.
    """
    try:
        with replacing(path) as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        log(f"cannot write {path.name}: {error}")


def append_line(path: Path, line: str) -> int:
    """Appends a whole line; returns the file's bytes. After a line that a kill has cut short, it
    begins a new one. Raises OSError."""
    data = line.encode() + b"\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        if file.tell() > 0 and not _ends_with_line(path):
            data = b"\n" + data
        size = file.tell() + len(data)
        file.write(data)
    return size


def _ends_with_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) == b"\n"
