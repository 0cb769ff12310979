"""What the service has to know of automatic checkpoints, in a file beside the checkpoints."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from ..files import write_atomically

AUTOMATIC_FILE = "tidewheel-automatic.json"
"""`{"trial": {"attempt", "result": "passed" | "refused" | "untried", "reason", "step", "seconds"},
"stopped": {"attempt", "step", "reason"}, "offer": {"attempt", "seconds"}}`, each where known."""
_WRITER = "automatic"
_LONGEST_REASON = 400


def read_automatic(folder: Path) -> dict[str, Any]:
    """An empty note where there is none, or none that can be read."""
    try:
        note = json.loads((folder / AUTOMATIC_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return note if isinstance(note, dict) else {}


def add_to_automatic(folder: Path, name: str, fact: dict[str, Any]) -> None:
    if isinstance(fact.get("reason"), str):
        fact = {**fact, "reason": fact["reason"][:_LONGEST_REASON]}
    note = {**read_automatic(folder), name: fact}
    write_atomically(folder / AUTOMATIC_FILE, json.dumps(note, sort_keys=True) + "\n")


def trial_result(folder: Path) -> str | None:
    trial = read_automatic(folder).get("trial")
    result = trial.get("result") if isinstance(trial, dict) else None
    return result if isinstance(result, str) else None


def remove_automatic_checkpoints(folder: Path) -> None:
    """No process can restore them, so they must not count."""
    for path in folder.glob("step-*"):
        try:
            marker = json.loads((path / "COMPLETE.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(marker, dict) and marker.get("writer") == _WRITER:
            shutil.rmtree(path, ignore_errors=True)
