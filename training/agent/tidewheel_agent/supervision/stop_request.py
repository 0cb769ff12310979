"""The request to stop, from the signal handler or another host to the loop that obeys it."""

from __future__ import annotations

import time
from collections.abc import Callable


class StopRequest:
    def __init__(self) -> None:
        self._is_set = False
        self.reason = ""
        self.requested_at = 0.0
        """Unix seconds."""
        self._listener: Callable[[str], None] | None = None

    def set(self, reason: str) -> None:
        """The first reason counts. Takes no lock, because a signal handler may call it."""
        if not self._is_set:
            self.reason, self.requested_at = reason, time.time()
            self._is_set = True

    def on_set(self, listener: Callable[[str], None]) -> None:
        self._listener = listener

    def acknowledge(self) -> None:
        """Calls the listener once, outside the signal handler."""
        if self._listener is not None:
            listener, self._listener = self._listener, None
            listener(self.reason)

    def is_set(self) -> bool:
        return self._is_set
