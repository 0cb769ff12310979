"""Pickles of scikit-learn, XGBoost and scripts of one's own."""

from __future__ import annotations

from pathlib import Path

from .inert_pickle import read_pickle
from .reading import Reading
from .step_names import position_inside

_LARGEST = 64 * 1024 * 1024
_STOP = b"."


def read_pickle_file(path: Path) -> Reading | None:
    """None where the file cannot be read to its end: too large, compressed, or joblib's arrays,
    which lie between the opcodes. Such a file counts once it has been quiet."""
    size = path.stat().st_size
    if size == 0 or size > _LARGEST:
        return None
    content = path.read_bytes()
    if content[:1] != b"\x80" and content[-1:] != _STOP:
        return None
    try:
        return Reading(position=position_inside(read_pickle(content)))
    except ValueError:
        return None if b"NumpyArrayWrapper" in content else Reading(f"{path.name} is cut off")
