"""Reads the progress note that earlier attempts of the run left."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tidewheel_contract.documents import ProgressNote, SeriesStart
from tidewheel_contract.reading import path_in

from ..files import read_document


def has_started_before(folder: Path) -> bool:
    """Whether a script of this run has started, on whatever host: each start leaves a file."""
    return any(folder.glob(SeriesStart.FILE.format(attempt="*")))


@dataclass(frozen=True)
class Note:
    training_seconds: float = 0.0
    step: int | None = None
    checkpoint: str | None = None


def read_note(folder: Path | None) -> Note:
    """An empty note where there is none, or none that can be read."""
    note = None if folder is None else read_document(ProgressNote, path_in(folder, ProgressNote))
    if note is None:
        return Note()
    return Note(max(0.0, note.training_seconds or 0.0), note.step, note.checkpoint)
