"""A checkpoint that somebody asks for while training goes on: EC2 says that a host is in danger."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from pathlib import Path

from ..log import iso, say
from .checkpoint import Checkpoint
from .progress import write_whole

_ONE_REQUEST_SECONDS = 60.0
"""Several hosts and the service may all ask for the same reason."""


class SaveRequest:
    """`ask` may be called in a signal handler or from any thread, the rest from one loop."""

    def __init__(self) -> None:
        self._asks = self._seen = 0
        self._heard = threading.Event()
        self._at: float | None = None
        self._is_open = False

    def ask(self) -> None:
        """Somebody asks this host. Takes no lock."""
        self._asks += 1

    def hear(self) -> None:
        """Another host passes on what it was asked."""
        self._heard.set()

    def take(self) -> bool:
        """Whether this host was asked since the last time: the others are to be told."""
        asks = self._asks
        was_asked, self._seen = asks != self._seen, asks
        if was_asked:
            self._heard.set()
        return was_asked

    def look(self, file: Path, newest: Checkpoint | None) -> None:
        """Opens the request to the script, and closes it when a checkpoint came."""
        now = time.time()
        if self._heard.is_set():
            self._heard.clear()
            if self._at is None or now - self._at >= _ONE_REQUEST_SECONDS:
                self._at, self._is_open = now, True
                write_whole(file, json.dumps({"requestedAt": iso(now)}) + "\n")
                say("a host is in danger: the script is asked to save and to train on")
        if self._is_open and newest is not None and newest.saved_at >= (self._at or 0.0):
            self._is_open = False
            with contextlib.suppress(OSError):
                file.unlink()
            say(f"saved as asked: {newest.name}")
