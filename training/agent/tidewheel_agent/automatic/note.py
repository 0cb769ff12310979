"""What the service has to know of automatic checkpoints, in a file beside the checkpoints."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from ..checkpoints.kept.repair import SET_ASIDE_FOLDER
from ..checkpoints.note import PROGRESS_FILE, read_note
from ..files import write_atomically
from ..log import log

AUTOMATIC_FILE = "tidewheel-automatic.json"
"""`{"trial": {"attempt", "result": "passed" | "refused" | "untried", "reason", "step", "seconds"},
"stopped": {"attempt", "step", "reason", "forGood"?}, "offer": {"attempt", "seconds"}}`, each where
known."""
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
    result = _trial(folder).get("result")
    return result if isinstance(result, str) else None


def trial_reason(folder: Path) -> str:
    reason = _trial(folder).get("reason")
    return reason if isinstance(reason, str) and reason else "their trial has failed"


def reason_without_hooks(folder: Path) -> str | None:
    """Why later attempts of the run get no hooks; None where they get them."""
    if trial_result(folder) == "refused":
        return trial_reason(folder)
    stopped = read_automatic(folder).get("stopped")
    if isinstance(stopped, dict) and stopped.get("forGood") is True:
        return str(stopped.get("reason"))
    return None


def _trial(folder: Path) -> dict[str, Any]:
    trial = read_automatic(folder).get("trial")
    return trial if isinstance(trial, dict) else {}


def set_aside_automatic_checkpoints(folder: Path, *, leads: bool) -> None:
    """No process can restore them, so they must not count. `leads`: as for `repair`."""
    for path in [*folder.glob("step-*")]:
        if not _is_automatic(path):
            continue
        target = folder / SET_ASIDE_FOLDER / path.name
        try:
            target.parent.mkdir(exist_ok=True)
            shutil.rmtree(target, ignore_errors=True)
            path.replace(target)
        except OSError as error:
            log(f"{path.name} cannot be set aside: {error}")
        if leads and read_note(folder).checkpoint == path.name:
            write_atomically(folder / PROGRESS_FILE, "{}\n")


def _is_automatic(path: Path) -> bool:
    try:
        marker = json.loads((path / "COMPLETE.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(marker, dict) and marker.get("writer") == _WRITER
