"""The small files by which the agent and the hooks of automatic checkpoints talk during a trial.

They lie in the folder TIDEWHEEL_AUTOMATIC_TRIAL. No attempt reads those of another release.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

VERDICT = "verdict.json"
"""`{"result", "reason"}`, of the trial; the agent's."""
LATER = "later"
"""The folder of the next trial, in a later epoch, in that of the one before."""
STOPPED = "stopped.json"
"""`{"step", "reason", "forGood"?}`: the script trains on without further checkpoints."""
FAILED_RESUME = "failed-resume.json"
"""`{"step", "reason"}`: the script could not be resumed."""


def after_file(rank: int) -> str:
    """`{"step", "state", "written", "replicated"}`: where the rank of the training stood after the
    trial's checkpoint, and a digest of what all ranks hold alike; or `{"problem"}`."""
    return f"after-{rank}.json"


def outcome_file(rank: int) -> str:
    """`{"state"}` or `{"reason", "untried"}`, of the same rank in the trial's second process."""
    return f"outcome-{rank}.json"


def read_exchanged(path: Path) -> dict[str, Any] | None:
    """None while there is none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
