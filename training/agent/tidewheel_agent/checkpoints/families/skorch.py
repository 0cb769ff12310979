"""skorch's Checkpoint: a file for each part of the training, and its epochs in history.json.

It writes the history last, and all files again after each epoch. Source: skorch/callbacks/
training.py, `Checkpoint.save_model`.
"""

import re
from pathlib import Path

from ..formats.files import FileReader
from ..formats.step_names import Position
from ..tree import Folder
from .found import Claim, Found, first_problem

_HISTORY = "history.json"
_SUFFIXES = (".pt", ".safetensors")
_PARTS = ("params", "optimizer", "criterion")
_TAIL_BYTES = 64 * 1024
_EPOCH = re.compile(rb'"epoch": (\d{1,9})\b')


def find(folder: Folder, reader: FileReader) -> Claim | None:
    """The names may have a prefix, as TrainEndCheckpoint's do (`train_end_`)."""
    found, claimed = [], set()
    for history in folder.files:
        prefix = history.removesuffix(_HISTORY)
        parts = [
            f"{prefix}{part}{suffix}"
            for part in _PARTS
            for suffix in _SUFFIXES
            if f"{prefix}{part}{suffix}" in folder.files
        ]
        if prefix == history or not parts or not parts[0].startswith(f"{prefix}params"):
            continue
        epoch, problem = _read_history(folder.path / history)
        problem = problem or first_problem(folder, reader, parts)
        position = None if epoch is None else Position(epoch, "epoch")
        files = folder.named({history, *parts})
        found.append(Found("skorch", folder.child(parts[0]), files, position, problem))
        claimed |= {history, *parts}
    return Claim(tuple(found), frozenset(claimed)) if found else None


def _read_history(path: Path) -> tuple[int | None, str]:
    """The last epoch, and why the file is not whole. A history of batches is long."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        tail = file.read().rstrip()
    if not tail.endswith(b"]"):
        return None, f"{path.name} is cut off"
    epochs = _EPOCH.findall(tail)
    return (int(epochs[-1]) if epochs else None), ""
