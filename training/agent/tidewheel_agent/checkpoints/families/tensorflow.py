"""TensorFlow: data in shards, then the index, which is a table with a magic number at its end.

Source: tensorflow/core/util/tensor_bundle/tensor_bundle.cc, tsl/lib/io/format.h.
"""

from __future__ import annotations

import re

from ..formats.files import FileReader
from ..formats.step_names import position_in_name
from ..tree import Folder
from .found import Claim, Found

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
