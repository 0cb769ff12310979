"""Requests for a checkpoint while training goes on: EC2 has warned that it may reclaim a host."""

import contextlib
import json
import threading
import time
from pathlib import Path

from ..files import write_atomically
from ..log import iso, log
from .checkpoint import Checkpoint

_ONE_REQUEST_SECONDS = 60.0
"""Several hosts and the service may ask for the same reason within this time."""


class SaveRequest:
    """A signal handler or any thread may call `request`; one loop calls the rest."""

    def __init__(self) -> None:
        self._requests = self._handled = 0
        self._is_pending = threading.Event()
        self._opened_at: float | None = None
        self._is_open = False

    def request(self) -> None:
        """Asks for a checkpoint on behalf of this host. Takes no lock."""
        self._requests += 1

    def receive(self) -> None:
        """Asks for a checkpoint on behalf of another host."""
        self._is_pending.set()

    def take_own(self) -> bool:
        """Whether this host has a new request since the last call, which the others need."""
        requests = self._requests
        is_new, self._handled = requests != self._handled, requests
        if is_new:
            self._is_pending.set()
        return is_new

    def update(self, file: Path, newest: Checkpoint | None) -> None:
        """Writes the request to `file` for the script; removes it once a checkpoint has come."""
        now = time.time()
        if self._is_pending.is_set():
            self._is_pending.clear()
            if self._opened_at is None or now - self._opened_at >= _ONE_REQUEST_SECONDS:
                self._opened_at, self._is_open = now, True
                write_atomically(file, json.dumps({"requestedAt": iso(now)}) + "\n")
                log("EC2 may reclaim a host: asking the script to save and train on")
        if (
            self._is_open
            and newest is not None
            and newest.holds_state_after(self._opened_at or 0.0)
        ):
            self._is_open = False
            with contextlib.suppress(OSError):
                file.unlink()
            log(f"saved as requested: {newest.name}")
