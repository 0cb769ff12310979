"""Optuna's journal: a line of JSON for each operation. The step is the number of finished trials.

It only grows, and its readers leave out a line that a kill has cut off. So it is whole at any time.
Source: optuna/storages/journal/_storage.py, `JournalOperation`.
"""

import re
from pathlib import Path

from .step_names import Position, Reading

HEAD = b'{"op_code":'
_LARGEST_FILE = 256 * 1024 * 1024
_FINISHED = re.compile(rb'^\{"op_code": ?6,[^\n]*"state": ?[12]\b[^\n]*\n', re.MULTILINE)
"""Trials that are complete or pruned."""


def read_journal(path: Path) -> Reading | None:
    """None before the first trial is finished."""
    if path.stat().st_size > _LARGEST_FILE:
        return None
    finished = sum(1 for _ in _FINISHED.finditer(path.read_bytes()))
    return Reading(position=Position(finished, "step")) if finished else None
