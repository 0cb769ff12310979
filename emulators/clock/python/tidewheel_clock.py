"""The clock of a training program: the virtual one of the local region where there is one, else
the one on the wall."""

from __future__ import annotations

import os
import select
import socket
import struct
import threading
import time

_FILE = os.environ.get("TIDEWHEEL_CLOCK_FILE", "")
_PORT = os.environ.get("TIDEWHEEL_CLOCK_PORT", "")
_MEMBER = os.environ.get("TIDEWHEEL_CLOCK_MEMBER", "")
_LONG_SECONDS = 30.0
_LOOK_SECONDS = 0.05
_descriptor: int | None = None
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


class _Sleeper:
    """Sleeps under the name of a member. Connects when it first sleeps."""

    def __init__(self, member: str) -> None:
        self._member = member
        self._connection: socket.socket | None = None

    def fall_asleep(self, moment: float) -> socket.socket:
        """The connection on which it will be woken."""
        if self._connection is None:
            self._connection = socket.create_connection(("127.0.0.1", int(_PORT)))
            self._connection.sendall(f"{self._member}\n".encode())
        self._connection.sendall(f"{moment * 1000:.3f}\n".encode())
        return self._connection


_sleeper = _Sleeper(_MEMBER)


def sleep_until(moment: float) -> None:
    """Returns at that moment (seconds since 1970). A signal handler that raises ends the sleep."""
    if not _PORT:
        time.sleep(max(0.0, moment - _wall()))
        return
    if moment > now():
        _be_woken(_sleeper.fall_asleep(moment))


def _be_woken(connection: socket.socket) -> None:
    if not connection.recv(64):
        raise ConnectionError("the local region's clock has gone")


def end_long_waits_by_the_clock(member: str) -> None:
    """Of this program's threads, for an event: one that is woken holds the clock until it waits
    again, as what it does in between takes no time."""
    wait = threading.Event.wait
    sleepers = threading.local()

    def wait_by_the_clock(event: threading.Event, timeout: float | None = None) -> bool:
        if timeout is None or timeout < _LONG_SECONDS:
            return wait(event, timeout)
        if not hasattr(sleepers, "own"):
            sleepers.own = _Sleeper(member)
        connection = sleepers.own.fall_asleep(now() + timeout)
        while not wait(event, _LOOK_SECONDS):
            if select.select([connection], [], [], 0)[0]:
                _be_woken(connection)
                return False
        return True

    setattr(threading.Event, "wait", wait_by_the_clock)  # noqa: B010
