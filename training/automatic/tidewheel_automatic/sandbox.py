"""Files that the training has written, which the trial's second process must not touch."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_MOST_FILES = 1000
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = {"os.remove": 1, "os.rename": 2, "os.truncate": 1, "os.rmdir": 1, "shutil.rmtree": 1}
"""Events by which Python reports a change, with the number of paths among their arguments."""
_written: dict[str, None] = {}


def note_written_files() -> None:
    """From now on the files that this process opens for writing are noted."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        for path in _changed(event, arguments):
            if len(_written) < _MOST_FILES:
                _written[path] = None

    sys.addaudithook(hook)


def written_files() -> list[str]:
    return [path for path in _written if not path.startswith(("/dev/", "/proc/"))]


class ProtectedFileError(PermissionError):
    """The trial's second process would write a file of the training."""


class Sandbox:
    """Lets this process write below `scratch`, and nowhere below `protected` beside it."""

    def __init__(self, scratch: Path, protected: Sequence[str]) -> None:
        self._scratch = os.path.realpath(scratch)
        self._protected = tuple(os.path.realpath(path) for path in protected)
        sys.addaudithook(self._hook)

    def check(self, path: str) -> None:
        """Raises ProtectedFileError."""
        real = os.path.realpath(path)
        if _is_below(real, self._scratch):
            return
        if any(_is_below(real, folder) for folder in self._protected):
            raise ProtectedFileError(f"the script writes {path}, which belongs to the training")

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        for path in _changed(event, arguments):
            self.check(path)


def _changed(event: str, arguments: tuple[Any, ...]) -> list[str]:
    if event == "open":
        path, _, flags = arguments
        writes = isinstance(flags, int) and flags & _WRITING
        paths: tuple[Any, ...] = (path,) if writes else ()
    else:
        paths = arguments[: _CHANGES.get(event, 0)]
    return [os.path.abspath(os.fsdecode(p)) for p in paths if isinstance(p, (str, bytes))]


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
