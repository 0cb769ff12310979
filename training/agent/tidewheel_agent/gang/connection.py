"""One connection between two agents: messages are lines of JSON."""

import contextlib
import json
import socket
import time

from .state import Message

LONGEST_MESSAGE = 16 * 1024
_LONGEST_BACKLOG = 64 * LONGEST_MESSAGE


class Connection:
    """Non-blocking; the gang's loop reads and flushes it."""

    def __init__(self, connection: socket.socket, host: str = "") -> None:
        connection.setblocking(False)
        self.socket = connection
        self.host = host
        """The host at the other end; empty until it has introduced itself."""
        self.heard_at = time.monotonic()
        self._unread = b""
        self._unsent = b""

    def put(self, message: Message) -> None:
        self._unsent += json.dumps(message).encode() + b"\n"

    def flush(self) -> bool:
        """False when the connection is broken."""
        try:
            while self._unsent:
                self._unsent = self._unsent[self.socket.send(self._unsent) :]
        except (BlockingIOError, InterruptedError):
            return len(self._unsent) < _LONGEST_BACKLOG
        except OSError:
            return False
        return True

    def read(self) -> list[Message] | None:
        """The messages that are complete; None when the connection is broken or not an agent's."""
        try:
            chunk = self.socket.recv(65536)
        except (BlockingIOError, InterruptedError):
            return []
        except OSError:
            return None
        if not chunk:
            return None
        self.heard_at = time.monotonic()
        *lines, self._unread = (self._unread + chunk).split(b"\n")
        if len(self._unread) > LONGEST_MESSAGE:
            return None
        try:
            messages = [json.loads(line) for line in lines]
        except (ValueError, RecursionError):
            return None
        return messages if all(isinstance(m, dict) for m in messages) else None

    def finish(self, until: float) -> None:
        """Closes the connection once the other end has read everything, at the latest at `until`.

        Closing a socket that holds unread bytes resets the connection, and a reset discards what
        is still on its way to the other end.
        """
        with contextlib.suppress(OSError):
            self.flush()
            self.socket.shutdown(socket.SHUT_WR)
            while (left := until - time.monotonic()) > 0:
                self.socket.settimeout(left)
                if not self.socket.recv(65536):
                    break
        self.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.close()
