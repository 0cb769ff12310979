"""What an exit code says about a program's end."""

from __future__ import annotations

import signal


def describe_signal(code: int) -> str:
    """For behind an exit code: ` (signal SIGTERM)`, or empty where no signal ended the program."""
    if code == 137:
        return " (killed by SIGKILL: most often the host ran out of memory)"
    if 128 < code < 160:
        try:
            return f" (signal {signal.Signals(code - 128).name})"
        except ValueError:
            return ""
    return ""
