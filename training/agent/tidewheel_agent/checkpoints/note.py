"""What earlier attempts of the run left in the checkpoint folder: the progress note, and a list.

The list names the files that lay there before the run's first script started. They came with the
source or from an earlier run, so they prove no work of this one.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from tidewheel_contract.documents import ProgressNote, SeriesStart
from tidewheel_contract.reading import path_in

from ..files import UNREADABLE, read_document, write_atomically
from .formats.files import FileState
from .tree import look


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


GIVEN_FILE = "tidewheel-given-files.json"
_OWN = re.compile(r"^step-\d{1,12}/|(?:^|/)tidewheel-[^/]*$")
"""Tidewheel's own layout and files: a marker proves itself, wherever it came from."""


def files_given(
    folder: Path, *, noted_checkpoint: str | None, writes: bool
) -> dict[str, FileState]:
    """Before the run's first script, what is there was given.

    Later attempts read the list that the first one `writes`. A restored file has another time, so
    the sizes are compared.
    """
    there = dict(look(folder).root.all_files())
    noted = _read_sizes(folder)
    if noted is not None:
        return {
            name: there[name]
            for name, size in noted.items()
            if _size(there, name) == size and not _belongs_to(noted_checkpoint, name)
        }
    if noted_checkpoint is not None or has_started_before(folder):
        return {}
    given = {name: state for name, state in there.items() if not _OWN.search(name)}
    if given and writes:
        sizes = {name: state.size_bytes for name, state in given.items()}
        write_atomically(folder / GIVEN_FILE, json.dumps({"files": sizes}) + "\n")
    return given


def _belongs_to(checkpoint: str | None, name: str) -> bool:
    return checkpoint is not None and (name == checkpoint or name.startswith(f"{checkpoint}/"))


def _size(there: dict[str, FileState], name: str) -> int | None:
    return there[name].size_bytes if name in there else None


def _read_sizes(folder: Path) -> dict[str, int] | None:
    try:
        files = json.loads((folder / GIVEN_FILE).read_text(encoding="utf-8"))["files"]
        return {str(name): int(size) for name, size in files.items()}
    except UNREADABLE:
        return None
