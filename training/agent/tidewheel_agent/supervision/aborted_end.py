"""A script that the C++ runtime aborts after its work was done.

While Python's interpreter ends, a thread of PyTorch that waits for the interpreter's lock is ended
by force, and `std::terminate` may answer with SIGABRT. By then the script's own code has run to its
end; each process notes that (for_scripts/sitecustomize.py).
"""

from __future__ import annotations

from pathlib import Path

from ..failure_file import LogTail
from .script_end import ScriptEnd

_WORDS = "terminate called without an active exception"
_ABORTED = 128 + 6
_LAST_LINES = 100


def has_ended_before_abort(
    end: ScriptEnd, tail: LogTail, ended: Path, pid: int, ranks: int | None
) -> bool:
    """`pid`: of the started program. `ranks`: those of torchrun on this host; None without it."""
    if end.script_code == 0 or end.was_killed or end.was_stopped:
        return False
    if not any(_WORDS in line for line in tail.last_lines(_LAST_LINES)):
        return False
    if ranks is None:
        return end.script_code == _ABORTED and (ended / str(pid)).exists()
    return all((ended / f"{pid}-{rank}").exists() for rank in range(ranks))
