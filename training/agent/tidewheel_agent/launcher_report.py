"""What torchrun prints after a rank has ended: which one was first, and how.

Its own exception, ChildFailedError, is the same for every cause, and torchrun's exit code is always
1. Format: torch/distributed/elastic/multiprocessing/errors/__init__.py, ChildFailedError.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass

_ROOT_CAUSE = "Root Cause (first observed failure):"
_RANK = re.compile(r"^\s+rank\s+: (\d+)\b")
_EXIT_CODE = re.compile(r"^\s+exitcode\s+: (-?\d+)\b")
_OWN_LINE = re.compile(r"^[EIW]\d{4} .*[ /]torch/distributed/elastic/")
_FOLLOWS = (-signal.SIGABRT, -signal.SIGTERM)
"""NCCL aborts a rank that has lost another one, and torchrun ends the rest by SIGTERM."""


@dataclass(frozen=True)
class FirstEnd:
    """Of the rank that ended first."""

    rank: int
    exit_code: int
    """As a shell shows it."""


def first_end(lines: Sequence[str]) -> FirstEnd | None:
    """None without torchrun's report, or where another process must have been at fault."""
    if _ROOT_CAUSE not in lines:
        return None
    rank = code = None
    for line in lines[lines.index(_ROOT_CAUSE) :]:
        if rank is None and (found := _RANK.match(line)):
            rank = int(found[1])
        if code is None and (found := _EXIT_CODE.match(line)):
            code = int(found[1])
    if rank is None or code is None or code in _FOLLOWS:
        return None
    return FirstEnd(rank, 128 - code if code < 0 else code)


def before_launcher(lines: Sequence[str]) -> list[str]:
    """The lines before torchrun's own."""
    first = next((n for n, line in enumerate(lines) if _OWN_LINE.match(line)), len(lines))
    return [*lines[:first]]
