"""The failure file: its first 1,024 characters become the training job's FailureReason."""

from __future__ import annotations

import re
from collections import deque
from pathlib import Path

from .log import log, redact

REASON_CHARACTERS = 1024
_RANK_PREFIX = re.compile(r"^\[(?:rank|default|algo-|\d)[^\]]{0,40}\]:? ?")
# Messages of a process that ended because another one had: never the cause.
_ECHOES = (
    "ChildFailedError",
    "Connection closed by peer",
    "Connection reset by peer",
    "Broken pipe",
    "Socket Timeout",
    "DistBackendError",
    "DistNetworkError",
    "RendezvousConnectionError",
    "SignalException",
)


# A traceback goes on after these lines: the exception below is the one that ended the program.
_CHAINS = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)


class LogTail:
    """The end of the script's output, to explain a failure with."""

    def __init__(self, lines: int = 600) -> None:
        self._lines: deque[str] = deque(maxlen=lines)

    def add(self, line: str) -> None:
        self._lines.append(line[:500])

    def traceback(self) -> list[str]:
        """The first traceback that is no echo of another process's end; else the first one.

        Of a chain of exceptions it is the last: the others were handled on the way.
        """
        blocks = _traceback_blocks([_RANK_PREFIX.sub("", line) for line in self._lines])
        causes = [block for block in blocks if not _is_echo(block)]
        chosen = causes or blocks
        return chosen[0] if chosen else []

    def names_cause(self) -> bool:
        """False when the output holds no traceback, or only echoes of another process's end."""
        traceback = self.traceback()
        return bool(traceback) and not _is_echo(traceback)

    def last_lines(self, count: int) -> list[str]:
        return [line for line in self._lines if line.strip()][-count:]


def _is_echo(traceback: list[str]) -> bool:
    return any(echo in traceback[-1] for echo in _ECHOES)


def _traceback_blocks(lines: list[str]) -> list[list[str]]:
    """Each traceback with the line that names the exception; chained ones count as their last."""
    blocks: list[list[str]] = []
    block: list[str] | None = None
    is_chained = False
    for line in lines:
        if line.startswith("Traceback (most recent call last)"):
            if is_chained and blocks:
                blocks.pop()
            block, is_chained = [line], False
        elif line.strip() in _CHAINS:
            is_chained = True
        elif block is not None:
            block.append(line)
            if line and not line[0].isspace():
                blocks.append(block)
                block = None
    return blocks


def failure_text(summary: str, tail: LogTail) -> str:
    """Puts summary and cause first, because the platform shows only the first 1,024 characters."""
    traceback = tail.traceback()
    if not traceback:
        last = "\n".join(tail.last_lines(12))
        return redact(f"{summary}\n{last[-900:]}".strip() + "\n")
    head = f"{summary}: {traceback[-1]}"
    room = REASON_CHARACTERS - len(head) - 2
    whole = "\n".join(traceback)
    shown = whole if len(whole) <= room else "…" + whole[-max(0, room - 1) :]
    return redact(f"{head}\n{shown}\n")


def write_failure(output_dir: Path, text: str) -> OSError | None:
    """Writes the failure file unless the script has written its own; returns why it could not."""
    path = output_dir / "failure"
    try:
        if path.exists() and path.stat().st_size > 0:
            return None
        output_dir.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        log(f"cannot write {path}: {error}")
        return error
    return None
