"""The script's output, silent during a replay: an earlier attempt has printed these lines."""

from __future__ import annotations

import contextlib
import os
import sys


class Output:
    def __init__(self) -> None:
        self._kept: list[int] = []

    def mute(self) -> None:
        """Redirects the descriptors, so that every writer of the process is silent."""
        self._flush()
        self._kept = [os.dup(1), os.dup(2)]
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os.close(nowhere)

    def unmute(self) -> None:
        if not self._kept:
            return
        self._flush()
        for descriptor, kept in zip((1, 2), self._kept, strict=True):
            os.dup2(kept, descriptor)
            os.close(kept)
        self._kept = []

    def say(self, text: str) -> None:
        print(f"tidewheel: {text}", file=sys.stderr, flush=True)

    def _flush(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
