"""Reads the progress note that earlier attempts of the run left."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from .checkpoint import finite_numbers

PROGRESS_FILE = "tidewheel-progress.json"
SERIES_FOLDER = "tidewheel-series"
"""Every start of a script leaves a file there."""


def has_started_before(folder: Path) -> bool:
    """Whether a script of this run has started, on whatever host."""
    return any((folder / SERIES_FOLDER).glob("attempt-*.jsonl"))


@dataclass(frozen=True)
class Note:
    training_seconds: float = 0.0
    step: int | None = None
    checkpoint: str | None = None


def read_note(folder: Path | None) -> Note:
    """An empty note where there is none, or none that can be read."""
    if folder is None:
        return Note()
    try:
        note = json.loads((folder / PROGRESS_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return Note()
    numbers = finite_numbers(note)
    step = numbers.get("step")
    name = note.get("checkpoint") if isinstance(note, dict) else None
    return Note(
        max(0.0, numbers.get("trainingSeconds", 0.0)),
        None if step is None else int(step),
        name if isinstance(name, str) else None,
    )
