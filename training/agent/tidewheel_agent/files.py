"""Writing small files that other processes read."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from .log import log


def write_atomically(path: Path, text: str) -> None:
    """A reader sees the old file or the new one, never a part of it, even after the host crashes.

    Logs a failure instead of raising it: no such file is worth ending the training.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        log(f"cannot write {path.name}: {error}")
        with contextlib.suppress(OSError):
            temporary.unlink()
