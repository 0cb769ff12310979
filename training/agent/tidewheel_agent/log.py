"""The agent's own lines on standard output, where the platform's log collector finds them."""

import re
import sys
import threading
import time
from datetime import datetime, timezone

_lock = threading.Lock()
_CREDENTIALS_IN_URL = re.compile(r"(://)[^/\s@]+@")


def redact(text: str) -> str:
    """Hides user names and passwords in URLs, such as that of a private package index."""
    return _CREDENTIALS_IN_URL.sub(r"\1***@", text)


def log(message: str) -> None:
    """Prints `[tidewheel] message` as one line, whatever control characters the message holds."""
    printable = "".join(c if c.isprintable() else "?" for c in redact(message))
    write_line(f"[tidewheel] {printable}".encode())


def write_line(line: bytes) -> None:
    """Writes one whole line: lines of the script and of the agent never mix."""
    with _lock:
        try:
            sys.stdout.buffer.write(line + b"\n")
            sys.stdout.buffer.flush()
        except (BrokenPipeError, ValueError):
            # The log collector has gone away. Training goes on.
            pass


def iso_now() -> str:
    """UTC with milliseconds and `Z`, by the clock that a machine's programs share."""
    return iso(time.time())


def iso(unix_seconds: float) -> str:
    moment = datetime.fromtimestamp(unix_seconds, timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
