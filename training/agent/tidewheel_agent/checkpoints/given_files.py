"""Files that lay in the checkpoint folder before the run's first script started.

They came with the source or from an earlier run, so they prove no work of this one.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from ..files import UNREADABLE, write_atomically
from .formats.files import FileState
from .note import has_started_before
from .tree import look

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
    noted = _read(folder)
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


def _read(folder: Path) -> dict[str, int] | None:
    try:
        files = json.loads((folder / GIVEN_FILE).read_text(encoding="utf-8"))["files"]
        return {str(name): int(size) for name, size in files.items()}
    except UNREADABLE:
        return None
