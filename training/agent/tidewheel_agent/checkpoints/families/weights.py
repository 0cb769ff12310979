"""The weights of Hugging Face's libraries: one file, or shards that an index lists."""

import re
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase

from ..formats.files import FileReader
from ..tree import Folder
from .found import (
    Claim,
    Found,
    first_problem,
    found_in,
    position_of_folder,
    read_json_object,
    whole_folder,
)

SINGLE_WEIGHTS = (
    "model.safetensors",
    "pytorch_model.bin",
    "adapter_model.safetensors",
    "adapter_model.bin",
    "diffusion_pytorch_model.safetensors",
    "pytorch_model_fsdp.bin",
    "tf_model.h5",
    "flax_model.msgpack",
    "pytorch_lora_weights.safetensors",
    "pytorch_lora_weights.bin",
)
_FOLDERS = ("pytorch_model_fsdp_*", "pytorch_model", "global_step*")
INDEX_SUFFIX = ".index.json"
_WEIGHTS = (".safetensors", INDEX_SUFFIX)
_H5 = ".weights.h5"
_SHARD = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.(?:safetensors|bin)")
_KERAS_SHARD = re.compile(r"(.+)_(\d{5})\.weights\.h5")


def has_weights(folder: Folder) -> bool:
    """Hooks of diffusers' examples and sentence-transformers write them into folders below."""
    if any(name in SINGLE_WEIGHTS or name.endswith(_WEIGHTS) for name in folder.files):
        return True
    if any(fnmatchcase(name, pattern) for name in folder.folders for pattern in _FOLDERS):
        return True
    return any(has_weights(below) for below in folder.folders.values())


def problem_of_weights(folder: Folder) -> str:
    """Why the weights, or the shards that the folder's indexes list, are not all there."""
    if not has_weights(folder):
        return "the weights are missing"
    for name in folder.files:
        if name.endswith(INDEX_SUFFIX):
            missing = sorted(shards_of(folder, name) - folder.files.keys())
            if missing:
                return f"{missing[0]}, which {name} lists, is missing"
    return ""


def shards_of(folder: Folder, index: str) -> set[str]:
    shards = read_json_object(folder, index).get("weight_map")
    if not isinstance(shards, dict):
        return set()
    return {str(shard) for value in shards.values() for shard in _as_list(value)}


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def find_sharded_weights(folder: Folder, reader: FileReader) -> Claim | None:
    """Weights in shards, of safetensors or PyTorch, and Keras' (`.weights.json`)."""
    found, names = [], set()
    for index in folder.files:
        if not index.endswith((INDEX_SUFFIX, ".weights.json")):
            continue
        try:
            shards = shards_of(folder, index)
        except ValueError:
            shards, problem = set(), f"{index} is cut off"
        else:
            problem = next((f"{s} is missing" for s in sorted(shards - folder.files.keys())), "")
        if not shards and not problem:
            continue
        present = {*shards, index} & folder.files.keys()
        found.append(_sharded(folder, reader, index, present, problem))
        names |= present
    for name, shards, problem in _shards_without_index(folder, names):
        if name not in names:
            found.append(_sharded(folder, reader, name, shards, problem))
        names |= shards
    return Claim(tuple(found), frozenset(names)) if found else None


def _sharded(
    folder: Folder, reader: FileReader, name: str, present: set[str], problem: str
) -> Found:
    problem = problem or first_problem(folder, reader, sorted(present))
    position = position_of_folder(folder)
    files = folder.named(present)
    named = folder.child(name)
    return Found("sharded weights", named, files, position, problem, needs_quiet=True)


def _shards_without_index(folder: Folder, claimed: set[str]) -> Iterator[tuple[str, set[str], str]]:
    """The number in a shard's name is no step. Name, files and problem of each set.

    The index comes last. Keras numbers its shards from 0, and the epochs in a file's name from 1.
    """
    sets: dict[str, tuple[set[str], str]] = {}
    for name in folder.files.keys() - claimed:
        if match := _SHARD.fullmatch(name):
            shards, _ = sets.setdefault(f"{match[1]}-of-{match[3]}", (set(), match[3]))
            shards.add(name)
        elif (match := _KERAS_SHARD.fullmatch(name)) and f"{match[1]}_00000{_H5}" in folder.files:
            shards, _ = sets.setdefault(f"{match[1]}.weights.json", (set(), ""))
            shards.add(name)
    for name, (shards, count) in sorted(sets.items()):
        if not count:
            yield name, shards, f"{name}, which lists the shards, is missing"
        elif len(shards) < int(count):
            yield name, shards, f"{len(shards)} of {int(count)} shards are there"
        else:
            yield name, shards, ""


def find_lone_weights(folder: Folder, reader: FileReader) -> Claim | None:
    """Weights alone in the folder of one step: Accelerate writes them first, the rest later."""
    lone = [name for name in folder.files if name in SINGLE_WEIGHTS]
    position = position_of_folder(folder)
    if not lone or not folder.name or position is None:
        return None
    problem = first_problem(folder, reader, lone)
    found = found_in(folder, "weights", problem, position)
    return whole_folder(folder, replace(found, needs_quiet=True))
