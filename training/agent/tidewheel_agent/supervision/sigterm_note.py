"""Remembers for later attempts that a script left on SIGTERM without saving.

It lies in the checkpoint folder, as the checkpoints do that the script saves at other times.
"""

from __future__ import annotations

import json
from pathlib import Path

from ..files import write_atomically

_FILE = "tidewheel-sigterm.json"


def has_left_unsaved(folder: Path) -> bool:
    try:
        note = json.loads((folder / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(note, dict) and note.get("leftUnsaved") is True


def note_left_unsaved(folder: Path) -> None:
    write_atomically(folder / _FILE, json.dumps({"leftUnsaved": True}) + "\n")
