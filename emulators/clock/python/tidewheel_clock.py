"""The clock of a training program: the virtual one of the local region where there is one, else
the one on the wall."""

from __future__ import annotations

import os
import socket
import struct
import time

_FILE = os.environ.get("TIDEWHEEL_CLOCK_FILE", "")
_PORT = os.environ.get("TIDEWHEEL_CLOCK_PORT", "")
_MEMBER = os.environ.get("TIDEWHEEL_CLOCK_MEMBER", "")
_descriptor: int | None = None
_connection: socket.socket | None = None
_wall = time.time


def now() -> float:
    """Seconds since 1970."""
    global _descriptor
    if not _FILE:
        return _wall()
    if _descriptor is None:
        _descriptor = os.open(_FILE, os.O_RDONLY | os.O_CLOEXEC)
    milliseconds: float = struct.unpack("<d", os.pread(_descriptor, 8, 0))[0]
    return milliseconds / 1000


def sleep_until(moment: float) -> None:
    """Returns at that moment (seconds since 1970). A signal handler that raises ends the sleep."""
    global _connection
    if not _PORT:
        time.sleep(max(0.0, moment - _wall()))
        return
    if moment <= now():
        return
    if _connection is None:
        _connection = socket.create_connection(("127.0.0.1", int(_PORT)))
        _connection.sendall(f"{_MEMBER}\n".encode())
    _connection.sendall(f"{moment * 1000:.3f}\n".encode())
    if not _connection.recv(64):
        raise ConnectionError("the local region's clock has gone")
