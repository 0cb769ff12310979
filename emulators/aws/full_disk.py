"""Refuses S3's writes while the disk is full. MiniStack answers 200 and only logs that an object
could not be written: the object is gone with the process.

S3 answers InternalError to what it cannot store, and clients try again:
https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
"""

import contextvars
import shutil
from pathlib import Path
from typing import Any

from ministack.services import s3

RESERVE_BYTES = 8 * 1024 * 1024
"""What snapshots, records and logs need to go on while uploads are refused."""

_failed: contextvars.ContextVar[list[str] | None] = contextvars.ContextVar("failed", default=None)


def install(state: Path) -> None:
    _note_failed_writes()
    handle = s3.handle_request

    async def handle_or_refuse(
        method: str, path: str, headers: Any, body: bytes, *args: Any, **kwargs: Any
    ) -> Any:
        if method not in ("PUT", "POST"):
            return await handle(method, path, headers, body, *args, **kwargs)
        if shutil.disk_usage(state).free < len(body) + RESERVE_BYTES:
            return _refusal()
        failures: list[str] = []
        token = _failed.set(failures)
        try:
            answer = await handle(method, path, headers, body, *args, **kwargs)
        finally:
            _failed.reset(token)
        return _refusal() if failures else answer

    s3.handle_request = handle_or_refuse


def _note_failed_writes() -> None:
    """MiniStack's callers catch every error of a write; the request that made it hears of it."""
    write = s3._atomic_write

    def write_or_note(path: str, data: Any, **kwargs: Any) -> None:
        try:
            write(path, data, **kwargs)
        except OSError:
            failures = _failed.get()
            if failures is not None:
                failures.append(path)
            raise

    s3._atomic_write = write_or_note


_MESSAGE = "We encountered an internal error. Please try again. (This machine's disk is full.)"


def _refusal() -> Any:
    return s3._error("InternalError", _MESSAGE, 500)
