"""The weights of Hugging Face's libraries: one file, or shards that an index lists."""

from __future__ import annotations

from fnmatch import fnmatchcase

from ..formats.files import FileReader
from ..tree import Folder
from .found import Claim, Found, position_of_folder, read_json_object, whole_folder

SINGLE_WEIGHTS = (
    "model.safetensors",
    "pytorch_model.bin",
    "adapter_model.safetensors",
    "adapter_model.bin",
    "diffusion_pytorch_model.safetensors",
    "pytorch_model_fsdp.bin",
    "tf_model.h5",
    "flax_model.msgpack",
)
_FOLDERS = ("pytorch_model_fsdp_*", "pytorch_model", "global_step*", "*unet*", "*transformer*")
INDEX_SUFFIX = ".index.json"


def has_weights(folder: Folder) -> bool:
    if any(name in SINGLE_WEIGHTS or name.endswith(INDEX_SUFFIX) for name in folder.files):
        return True
    return any(fnmatchcase(name, pattern) for name in folder.folders for pattern in _FOLDERS)


def missing_shards(folder: Folder) -> str:
    """Why the shards that the folder's indexes list are not all there; empty when they are."""
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
        shards = shards_of(folder, index)
        if not shards:
            continue
        present = {*shards, index} & folder.files.keys()
        problem = next((f"{s} is missing" for s in sorted(shards - folder.files.keys())), "")
        for shard in sorted(shards & folder.files.keys()):
            reading = reader.read(folder.path / shard, folder.files[shard])
            problem = problem or (reading.problem if reading else "")
        position = position_of_folder(folder)
        name, files = folder.child(index), folder.named(present)
        found.append(Found("sharded weights", name, files, position, problem, needs_quiet=True))
        names |= present
    return Claim(tuple(found), frozenset(names)) if found else None


def find_lone_weights(folder: Folder, reader: FileReader) -> Claim | None:
    """Weights alone in the folder of one step: Accelerate writes them first, the rest later."""
    lone = [name for name in folder.files if name in SINGLE_WEIGHTS]
    position = position_of_folder(folder)
    if not lone or not folder.name or position is None:
        return None
    problem = ""
    for name in lone:
        reading = reader.read(folder.path / name, folder.files[name])
        problem = problem or (reading.problem if reading else "")
    files = dict(folder.all_files())
    found = Found("weights", folder.name, files, position, problem, needs_quiet=True)
    return whole_folder(folder, found)
