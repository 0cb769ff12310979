"""Ends the script when the agent dies without a word (kill -9, out of memory).

Ranks that outlive their agent would train on unseen and write into their successors' checkpoints.
The watchdog holds the reading end of a pipe whose writing end only the agent has: end of file
without a farewell means that the agent is gone.
"""

import contextlib
import json
import os
import subprocess

from ..agent_path import ignore_signals, start_own
from .leftovers import Leftovers
from .process_tree import kill_all

_FAREWELL = b"\n."


def watch(token: str, root: int) -> int:
    """Runs in the watchdog's own process."""
    ignore_signals()
    received = b""
    while chunk := os.read(0, 65536):
        received += chunk
    if not received.endswith(_FAREWELL):
        kill_all(token, [root], Leftovers(json.loads(received)))
    return 0


class Watchdog:
    """Guards a script until it is dismissed."""

    def __init__(self, token: str, root: int, leftovers: Leftovers) -> None:
        nowhere = subprocess.DEVNULL
        self._process = start_own("--watchdog", token, str(root), stdout=nowhere, stderr=nowhere)
        self._tell(json.dumps(sorted(leftovers.before)).encode())

    def dismiss(self) -> None:
        assert self._process.stdin is not None
        self._tell(_FAREWELL)
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)

    def _tell(self, data: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(data)
            self._process.stdin.flush()
