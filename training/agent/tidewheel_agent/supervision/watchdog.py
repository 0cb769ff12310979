"""Ends the script when the agent dies without a word (kill -9, out of memory).

Ranks that outlive their agent would train on unseen and write into their successors' checkpoints.
The watchdog holds the reading end of a pipe whose writing end only the agent has: end of file
without a farewell means that the agent is gone.
"""

from __future__ import annotations

import contextlib
import os
import subprocess

from ..agent_path import ignore_signals, start_own
from .process_tree import kill_all

_FAREWELL = b"."


def watch(token: str, root: int) -> int:
    """Runs in the watchdog's own process."""
    ignore_signals()
    received = b""
    while chunk := os.read(0, 16):
        received += chunk
    if received != _FAREWELL:
        kill_all(token, [root])
    return 0


class Watchdog:
    """Guards a script until it is dismissed."""

    def __init__(self, token: str, root: int) -> None:
        nowhere = subprocess.DEVNULL
        self._process = start_own("--watchdog", token, str(root), stdout=nowhere, stderr=nowhere)

    def dismiss(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(_FAREWELL)
            self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
