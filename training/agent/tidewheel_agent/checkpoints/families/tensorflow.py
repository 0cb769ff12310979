"""TensorFlow and Keras.

TensorFlow writes data in shards, then the index, which is a table with a magic number at its end.
Source: tensorflow/core/util/tensor_bundle/tensor_bundle.cc, tsl/lib/io/format.h.

Keras' BackupAndRestore writes weights, and the epoch beside them in training_metadata.json. Single
`.keras` and `.weights.h5` files prove themselves. Source: keras/src/callbacks/
backup_and_restore.py.
"""

import re

from ..formats.files import FileReader
from ..formats.step_names import Position, position_in_name
from ..tree import Folder
from .found import Claim, Found, first_problem, read_json_object
from .weights import shards_of

_FOOTER_BYTES = 48
_MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")
_SHARD = re.compile(r"(.+)\.data-(\d{5})-of-(\d{5})")


def find(folder: Folder, reader: FileReader) -> Claim | None:
    shards: dict[str, list[tuple[int, str]]] = {}
    for name in folder.files:
        match = _SHARD.fullmatch(name)
        if match:
            shards.setdefault(match[1], []).append((int(match[3]), name))
    found, names = [], set()
    for prefix, parts in shards.items():
        index = f"{prefix}.index"
        own = {name for _, name in parts} | ({index} & folder.files.keys())
        problem = _problem(folder, index, parts)
        files, position = folder.named(own), position_in_name(prefix)
        found.append(Found("TensorFlow", folder.child(prefix), files, position, problem))
        names |= own
    if not found:
        return None
    return Claim(tuple(found), frozenset(names | ({"checkpoint"} & folder.files.keys())))


def _problem(folder: Folder, index: str, parts: list[tuple[int, str]]) -> str:
    if index not in folder.files:
        return f"{index}, which is written last, is missing"
    if len(parts) < parts[0][0]:
        return f"{len(parts)} of {parts[0][0]} data files of {index} are there"
    with (folder.path / index).open("rb") as file:
        file.seek(max(0, folder.files[index].size_bytes - _FOOTER_BYTES))
        if not file.read().endswith(_MAGIC):
            return f"{index} is cut off"
    return ""


_METADATA = "training_metadata.json"
_INDEX = "latest.weights.json"
_WEIGHTS = ("latest.weights.h5", _INDEX)


def find_keras(folder: Folder, reader: FileReader) -> Claim | None:
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
    problem = problem or first_problem(folder, reader, weights)
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
