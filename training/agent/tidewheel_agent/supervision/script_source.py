"""What the script's source says of how it hears of a stop."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_ASKS = re.compile(rb"TIDEWHEEL_STOP_FILE|\btidewheel\b|stop_soon")
_LARGEST_FILE = 4 * 1024 * 1024
_MOST_FILES = 5000


@dataclass(frozen=True)
class ScriptSource:
    may_ask: bool
    """The source mentions the stop file or Tidewheel's module, so it may leave on its own."""


def read_source(folder: Path) -> ScriptSource:
    """A source that cannot be read may ask for anything."""
    try:
        return ScriptSource(any(_ASKS.search(text) for text in _texts(folder)))
    except OSError:
        return ScriptSource(may_ask=True)


def _texts(folder: Path) -> Iterator[bytes]:
    for number, path in enumerate(folder.rglob("*")):
        if number >= _MOST_FILES:
            raise OSError(f"more than {_MOST_FILES} files")
        if path.is_file() and path.stat().st_size <= _LARGEST_FILE:
            yield path.read_bytes()
