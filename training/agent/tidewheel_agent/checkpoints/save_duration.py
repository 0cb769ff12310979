"""How long a save took, from the timestamps of the files that it wrote.

A save lasts from the creation of its first file to the end of its last, whatever framework wrote
them. Linux records when a file was created; os.stat does not return it, statx(2) does.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path

from .checkpoint import Checkpoint

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


def _paths_of(folder: Path, checkpoint: Checkpoint) -> Iterable[Path]:
    """The checkpoint's folder with its files, its only file, or the files that share its prefix."""
    path = folder / checkpoint.name
    if path.is_dir():
        inside = [entry for entry in path.rglob("*") if entry.is_file()]
        return [path, *inside[:_MOST_FILES]]
    if path.is_file():
        return [path]
    return path.parent.glob(f"{path.name}.*")
