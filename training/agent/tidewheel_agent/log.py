"""One line per event on standard output, where the platform's log collector finds it."""

from __future__ import annotations

import re
import sys
import threading
from datetime import datetime, timezone

_lock = threading.Lock()
_CREDENTIALS_IN_URL = re.compile(r"(://)[^/\s@]+@")


def redact(text: str) -> str:
    """Hides user names and passwords that stand in URLs (private package indexes)."""
    return _CREDENTIALS_IN_URL.sub(r"\1***@", text)


def say(message: str) -> None:
    """Prints `[tidewheel] message`; control characters cannot forge a second line."""
    printable = "".join(c if c.isprintable() else "?" for c in redact(message))
    write_line(f"[tidewheel] {printable}".encode())


def write_line(line: bytes) -> None:
    """Writes one whole line, so that the script's output and ours never mix inside a line."""
    with _lock:
        try:
            sys.stdout.buffer.write(line + b"\n")
            sys.stdout.buffer.flush()
        except (BrokenPipeError, ValueError):
            # Whoever collected the log is gone; the training is not.
            pass


def iso_now() -> str:
    """UTC, milliseconds, `Z`."""
    return iso(datetime.now(timezone.utc).timestamp())


def iso(unix_seconds: float) -> str:
    moment = datetime.fromtimestamp(unix_seconds, timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
