"""A script that the C++ runtime aborts after its work was done.

While Python's interpreter ends, a thread of PyTorch that waits for the interpreter's lock is ended
by force, and `std::terminate` may answer with SIGABRT. By then the script's own code has run to its
end; each process notes that (for_scripts/sitecustomize.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import or_
from pathlib import Path

from ..failure_file import LogTail
from .script_end import ScriptEnd

_WORDS = "terminate called without an active exception"
_ABORTED = 128 + 6
_LAST_LINES = 100


@dataclass(frozen=True)
class AbortedEnd:
    is_good: bool
    """False where a process left by `raise SystemExit(...)`: nothing kept its code."""


def aborted_end(
    end: ScriptEnd, tail: LogTail, ended: Path, pid: int, ranks: int | None
) -> AbortedEnd | None:
    """None for an end that was no such abort, or that followed an error.

    `pid`: of the started program. `ranks`: those of torchrun on this host; None without it.
    """
    if end.script_code == 0 or end.was_killed or end.was_stopped:
        return None
    if not any(_WORDS in line for line in tail.last_lines(_LAST_LINES)):
        return None
    if ranks is None and end.script_code != _ABORTED:
        return None
    names = [str(pid)] if ranks is None else [f"{pid}-{rank}" for rank in range(ranks)]
    good = [(ended / name).exists() for name in names]
    lost = [(ended / f"{name}.lost").exists() for name in names]
    if not all(map(or_, good, lost)):
        return None
    return AbortedEnd(is_good=all(good))
