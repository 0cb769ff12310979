"""How long a save took, from the timestamps of the files that it wrote.

A save lasts from the creation of its first file to the end of its last, whatever framework wrote
them. Linux records when a file was created; os.stat does not return it, statx(2) does.
"""

import ctypes
import os
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

from .checkpoint import Checkpoint
from .families.found import Found
from .formats.files import FileState

_AT_FDCWD = -100
_STATX_BTIME = 0x800
_STATX_BYTES = 256
_BTIME_OFFSET = 80
_MOST_FILES = 10_000


def creation_time(path: Path) -> float | None:
    """Unix seconds; None where the system or the file system does not record it."""
    try:
        statx = ctypes.CDLL(None, use_errno=True).statx
    except (AttributeError, OSError):
        return None
    buffer = ctypes.create_string_buffer(_STATX_BYTES)
    failed = statx(_AT_FDCWD, os.fsencode(path), 0, _STATX_BTIME, buffer)
    (mask,) = struct.unpack_from("=I", buffer, 0)
    if failed or not mask & _STATX_BTIME:
        return None
    seconds, nanoseconds = struct.unpack_from("=qI", buffer, _BTIME_OFFSET)
    return float(seconds) + float(nanoseconds) / 1e9


def save_duration(folder: Path, checkpoint: Checkpoint, not_before: float) -> float | None:
    """Seconds from the creation of the checkpoint's first file to its completion.

    A file created before `not_before` (Unix seconds) is older than this save: the script has
    written the file, or its folder, once more. None when no file tells.
    """
    times = [creation_time(path) for path in _paths_of(folder, checkpoint)]
    of_this_save = [time for time in times if time is not None and time >= not_before]
    if not of_this_save:
        return None
    return max(0.0, checkpoint.saved_at - min(of_this_save))


class Rewrites:
    """When checkpoints that keep their names began to change: their creation is long ago.

    Looks are about a second apart, so a rewrite began half a second before it was seen, give or
    take as much.
    """

    def __init__(self) -> None:
        self._last_look: float | None = None
        self._seen: dict[str, Mapping[str, FileState]] = {}
        self._began: dict[str, float] = {}

    def look(self, found: Iterable[Found], at: float) -> None:
        """`found`: all that a look found, at Unix seconds `at`, whether whole or not."""
        for each in found:
            known = self._seen.get(each.name)
            if known is not None and known != each.files and self._last_look is not None:
                seen_at = max(self._last_look, min(at, each.saved_at))
                self._began.setdefault(each.name, (self._last_look + seen_at) / 2)
            self._seen[each.name] = each.files
        self._last_look = at

    def began(self, name: str) -> float | None:
        """Unix seconds, once for each rewrite."""
        return self._began.pop(name, None)


def _paths_of(folder: Path, checkpoint: Checkpoint) -> Iterable[Path]:
    """The checkpoint's folder with its files, its only file, or the files that share its prefix."""
    path = folder / checkpoint.name
    if path.is_dir():
        inside = [entry for entry in path.rglob("*") if entry.is_file()]
        return [path, *inside[:_MOST_FILES]]
    if path.is_file():
        return [path]
    return path.parent.glob(f"{path.name}.*")
