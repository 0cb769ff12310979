"""How long a save took, read off the files that it left.

Linux knows when a file came into being, and Python's os.stat does not tell: statx(2) does. From the
first file's birth to the last one's end is the time of the save, whatever framework wrote it.
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
_SIZE = 256
_BIRTH_AT = 80
_MOST_FILES = 10_000


def birth_of(path: Path) -> float | None:
    """Unix seconds; None where the system or the file system does not know it."""
    try:
        statx = ctypes.CDLL(None, use_errno=True).statx
    except (AttributeError, OSError):
        return None
    answer = ctypes.create_string_buffer(_SIZE)
    failed = statx(_AT_FDCWD, os.fsencode(path), 0, _STATX_BTIME, answer)
    (mask,) = struct.unpack_from("=I", answer, 0)
    if failed or not mask & _STATX_BTIME:
        return None
    seconds, nanoseconds = struct.unpack_from("=qI", answer, _BIRTH_AT)
    return float(seconds) + float(nanoseconds) / 1e9


def save_seconds(folder: Path, checkpoint: Checkpoint, not_before: float) -> float | None:
    """From the birth of the first of the checkpoint's files to its completion.

    What was born before `not_before` (unix seconds) was there before the save: a folder that is
    written again, or a file that is. None when nothing tells.
    """
    births = [birth_of(path) for path in _paths_of(folder, checkpoint)]
    own = [birth for birth in births if birth is not None and birth >= not_before]
    if not own:
        return None
    return max(0.0, checkpoint.saved_at - min(own))


def _paths_of(folder: Path, checkpoint: Checkpoint) -> Iterable[Path]:
    """The checkpoint's folder and the files in it; its file; or the files that begin with it."""
    path = folder / checkpoint.name
    if path.is_dir():
        inside = [entry for entry in path.rglob("*") if entry.is_file()]
        return [path, *inside[:_MOST_FILES]]
    if path.is_file():
        return [path]
    return path.parent.glob(f"{path.name}.*")
