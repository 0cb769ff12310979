"""Keras' BackupAndRestore: weights, and the epoch beside them in training_metadata.json.

Single `.keras` and `.weights.h5` files prove themselves. Source: keras/src/callbacks/
backup_and_restore.py.
"""

from __future__ import annotations

from ..formats.files import FileReader
from ..formats.step_names import Position
from ..tree import Folder
from .found import Claim, Found, read_json_object
from .weights import shards_of

_METADATA = "training_metadata.json"
_INDEX = "latest.weights.json"
_WEIGHTS = ("latest.weights.h5", _INDEX)


def find(folder: Folder, reader: FileReader) -> Claim | None:
    if _METADATA not in folder.files:
        return None
    weights = [name for name in folder.files if name.startswith("latest")]
    try:
        epoch = read_json_object(folder, _METADATA).get("epoch")
    except ValueError:
        epoch = None
    problem = "" if set(weights) & set(_WEIGHTS) else f"{_WEIGHTS[0]} is missing"
    if epoch is None:
        problem = f"{_METADATA} is cut off"
    if _INDEX in folder.files:
        problem = problem or _missing_shard(folder)
    for name in weights:
        reading = reader.read(folder.path / name, folder.files[name])
        problem = problem or (reading.problem if reading else "")
    position = Position(epoch, "epoch") if isinstance(epoch, int) else None
    names = {_METADATA, *weights}
    main = next((name for name in _WEIGHTS if name in folder.files), _METADATA)
    found = Found(
        "Keras BackupAndRestore", folder.child(main), folder.named(names), position, problem
    )
    return Claim((found,), frozenset(names))


def _missing_shard(folder: Folder) -> str:
    try:
        missing = sorted(shards_of(folder, _INDEX) - folder.files.keys())
    except ValueError:
        return f"{_INDEX} is cut off"
    return f"{missing[0]}, which {_INDEX} lists, is missing" if missing else ""
