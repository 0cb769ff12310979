"""The small files by which the hooks and the agent talk.

The agent's automatic/exchange.py names them, too: the hooks run in the script, without the agent.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from . import storage

VERDICT = "verdict.json"
"""The agent's, of the trial."""
LATER = "later"
"""The same for the trial in a later epoch, below that of the trial before."""
STOPPED = "stopped.json"
"""The script trains on without further checkpoints."""
FAILED_RESUME = "failed-resume.json"
"""The script could not be resumed."""


def after_file(rank: int) -> str:
    """Where a rank of the training stood after the trial's checkpoint, or why it saved none."""
    return f"after-{rank}.json"


def outcome_file(rank: int) -> str:
    """Where the same rank stood in the trial's second process, or why it did not come there."""
    return f"outcome-{rank}.json"


def write_json(path: Path, document: dict[str, Any]) -> None:
    storage.write(path, json.dumps(document).encode())


def read_json(path: Path) -> dict[str, Any] | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def tell_agent(path: Path, step: int, reason: str, *, for_good: bool = False) -> None:
    """`path`: the folder of the trial, and STOPPED or FAILED_RESUME."""
    more = {"forGood": True} if for_good else {}
    with contextlib.suppress(OSError):
        write_json(path, {"step": step, "reason": reason, **more})
