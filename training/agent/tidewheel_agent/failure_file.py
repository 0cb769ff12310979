"""The failure file: its first 1,024 characters become the training job's FailureReason."""

from __future__ import annotations

import re
import signal
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .log import log, redact
from .platform_failure import speaks_of_full_disk


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


REASON_CHARACTERS = 1024
_LONGEST_CAUSE = 500
_LAST_LINES = 12
_RANK = re.compile(r"^\[rank(\d+)\]")
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

_TRACEBACK = "Traceback (most recent call last)"
# A traceback goes on after these lines: the exception below is the one that ended the program.
_CHAINS = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
_ROOT_CAUSE = "Root Cause (first observed failure):"
_REPORTED_RANK = re.compile(r"^\s+rank\s+: (\d+)\b")
_EXIT_CODE = re.compile(r"^\s+exitcode\s+: (-?\d+)\b")
_OWN_LINE = re.compile(r"^[EIW]\d{4} .*[ /]torch/distributed/elastic/")
_FOLLOWS = (-signal.SIGABRT, -signal.SIGTERM)
"""NCCL aborts a rank that has lost another one, and torchrun ends the rest by SIGTERM."""


_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_REMEDIES = {
    "Weights only load failed": (
        'training.environment: { TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD: "1" } has PyTorch 2.6 and later '
        "load checkpoints of your own as before"
    ),
}
"""By what a message says: the one line that helps."""


class LogTail:
    """The end of the script's output, to explain a failure with."""

    def __init__(self, lines: int = 600) -> None:
        self._lines: deque[str] = deque(maxlen=lines)

    def add(self, line: str) -> None:
        self._lines.append(_ANSI.sub("", line)[:500])

    def traceback(self) -> list[str]:
        """The first traceback that is no echo of another process's end; else the first one.

        Of a chain of exceptions it is the last: the others were handled on the way.
        """
        blocks = self._blocks()
        causes = [block for block in blocks if not _is_echo(block)]
        chosen = causes or blocks
        return chosen[0] if chosen else []

    def ends_with_full_disk(self) -> bool:
        return any(speaks_of_full_disk(line) for line in self.traceback()[-1:])

    def names_cause(self) -> bool:
        """False when the output holds no cause, or only echoes of another process's end."""
        traceback = self.traceback()
        has_cause = bool(traceback) and not _is_echo(traceback)
        return has_cause or self.silent_end() is not None

    def silent_end(self) -> FirstEnd | None:
        """Of a rank of torchrun that ended before the others without an exception: it left by an
        exit code, as argparse does, or was killed."""
        lines = [*self._lines]
        end = _first_end(lines)
        if end is None or any(not _is_echo(block) for block in self._blocks()):
            return None
        began = [line for line in _before_launcher(lines) if _TRACEBACK in line]
        ranks = [_RANK.match(line) for line in began]
        # Lines have no rank before torch.distributed has one.
        is_silent = all(found is not None and int(found[1]) != end.rank for found in ranks)
        return end if is_silent else None

    def _blocks(self) -> list[list[str]]:
        return _traceback_blocks([_RANK_PREFIX.sub("", line) for line in self._lines])

    def last_words(self) -> list[str]:
        """The last lines before torchrun's own, without those of the ranks that lost another."""
        said = [line for line in _before_launcher([*self._lines]) if line.strip()]
        first = next((n for n, line in enumerate(said) if _TRACEBACK in line), len(said))
        return said[:first][-_LAST_LINES:]

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
        if line.startswith(_TRACEBACK):
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
    end = tail.silent_end()
    if end is not None:
        code = end.exit_code
        head = f"{summary}: rank {end.rank} ended with exit code {code}{describe_signal(code)}"
        return _with_lines(head, tail.last_words())
    traceback = tail.traceback()
    if not traceback:
        return _with_lines(summary, tail.last_lines(_LAST_LINES))
    remedies = [text for words, text in _REMEDIES.items() if words in traceback[-1]]
    head = "; ".join([f"{summary}: {traceback[-1][:_LONGEST_CAUSE]}", *remedies])
    room = REASON_CHARACTERS - len(head) - 2
    whole = "\n".join(traceback)
    shown = whole if len(whole) <= room else "…" + whole[len(whole) - max(0, room - 1) :]
    return redact(f"{head}\n{shown}\n")


def _with_lines(head: str, lines: list[str]) -> str:
    shown = "\n".join(lines)
    return redact(f"{head}\n{shown[-900:]}".strip() + "\n")


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


@dataclass(frozen=True)
class FirstEnd:
    """Of the rank that ended first, as torchrun reports it.

    Its own exception, ChildFailedError, is the same for every cause, and its exit code is always 1.
    Format: torch/distributed/elastic/multiprocessing/errors/__init__.py, ChildFailedError.
    """

    rank: int
    exit_code: int
    """As a shell shows it."""


def _first_end(lines: Sequence[str]) -> FirstEnd | None:
    """None without torchrun's report, or where another process must have been at fault."""
    if _ROOT_CAUSE not in lines:
        return None
    rank = code = None
    for line in lines[lines.index(_ROOT_CAUSE) :]:
        if rank is None and (found := _REPORTED_RANK.match(line)):
            rank = int(found[1])
        if code is None and (found := _EXIT_CODE.match(line)):
            code = int(found[1])
    if rank is None or code is None or code in _FOLLOWS:
        return None
    return FirstEnd(rank, 128 - code if code < 0 else code)


def _before_launcher(lines: Sequence[str]) -> list[str]:
    """The lines before torchrun's own."""
    first = next((n for n, line in enumerate(lines) if _OWN_LINE.match(line)), len(lines))
    return [*lines[:first]]
