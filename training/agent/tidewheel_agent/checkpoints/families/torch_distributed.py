"""States that several ranks of PyTorch save in parts.

torch.distributed.checkpoint (FSDP, Lightning's and Hugging Face's sharded states): `.metadata` is
written last and names every stored part with its file, offset and length. Source:
torch/distributed/checkpoint/filesystem.py.

DeepSpeed: the file `latest` names a folder, and is written after the folder's files. Each rank
writes its part of a ZeRO optimizer; the model's file says how many ranks there were. Source:
deepspeed/runtime/engine.py, `save_checkpoint`.
"""

from dataclasses import replace
from fnmatch import fnmatchcase

from ..formats.files import FileReader
from ..formats.inert_pickle import Inert, read_pickle
from ..formats.step_names import position_in_name
from ..tree import Folder
from .found import Claim, Found, found_in, problem_of_files, read_saved, whole_folder

_METADATA = ".metadata"
_LIGHTNING = "meta.pt"
_LARGEST_METADATA = 256 * 1024 * 1024


def find(folder: Folder, reader: FileReader) -> Claim | None:
    has_shards = any(name.endswith(".distcp") for name in folder.files)
    if _METADATA not in folder.files and not has_shards:
        return None
    position = None
    if _LIGHTNING in folder.files:
        reading = reader.read(folder.path / _LIGHTNING, folder.files[_LIGHTNING])
        position = reading.position if reading else None
    needed: dict[str, int] | None = {}
    if _METADATA in folder.files and folder.files[_METADATA].size_bytes <= _LARGEST_METADATA:
        needed = _needed_bytes((folder.path / _METADATA).read_bytes())
    elsewhere = {
        folder.child(name): size
        for name, size in sorted((needed or {}).items())
        if name not in folder.files
    }
    problem = _problem(folder, reader, needed)
    found = found_in(folder, "torch.distributed.checkpoint", problem, position)
    return whole_folder(folder, replace(found, elsewhere=elsewhere))


def _problem(folder: Folder, reader: FileReader, needed: dict[str, int] | None) -> str:
    """`needed`: None if the metadata cannot be read. Missing files are no problem yet."""
    if _METADATA not in folder.files:
        return f"{_METADATA}, which is written last, is missing"
    if needed is None:
        return f"{_METADATA} is cut off"
    for name, end in sorted(needed.items()):
        state = folder.files.get(name)
        if state is not None and state.size_bytes < end:
            return f"{name} has {state.size_bytes} of {end} bytes"
    if folder.base_name.endswith(".ckpt") and _LIGHTNING not in folder.files:
        return f"{_LIGHTNING} is missing"
    return problem_of_files(replace(folder, folders={}), reader)


def _needed_bytes(content: bytes) -> dict[str, int] | None:
    """How long each file must be at least; None for metadata that is cut off."""
    ends: dict[str, int] = {}
    try:
        storage = _fields(read_pickle(content)).get("storage_data")
    except ValueError:
        return None
    for part in storage.values() if isinstance(storage, dict) else []:
        fields = _fields(part)
        name, offset, length = (fields.get(k) for k in ("relative_path", "offset", "length"))
        if isinstance(name, str) and isinstance(offset, int) and isinstance(length, int):
            ends[name] = max(ends.get(name, 0), offset + length)
    return ends


def _fields(value: object) -> dict[str, object]:
    state = value.state if isinstance(value, Inert) else None
    if isinstance(state, tuple) and len(state) == 2:  # A class with slots.
        state = state[1] or state[0]
    return state if isinstance(state, dict) else {}


_MODEL = "mp_rank_*_model_states.pt"
_OPTIMIZER = "*zero_pp_rank_*_optim_states.pt"


def find_deepspeed(folder: Folder, reader: FileReader) -> Claim | None:
    if "latest" not in folder.files or folder.files["latest"].size_bytes > 4096:
        return None
    tag = (folder.path / "latest").read_text(encoding="utf-8", errors="replace").strip()
    saved = [name for name, each in folder.folders.items() if _is_deepspeed(each)]
    if tag not in folder.folders or (tag not in saved and not tag.startswith("global_step")):
        return None
    inside = folder.folders[tag]
    files = {**dict(inside.all_files()), **folder.named({"latest"})}
    problem = _deepspeed_problem(inside, reader)
    found = Found("DeepSpeed", inside.name, files, position_in_name(tag), problem)
    return Claim((found,), frozenset({"latest", tag, *saved}))


def _is_deepspeed(folder: Folder) -> bool:
    return any(fnmatchcase(name, _MODEL) or "optim_states" in name for name in folder.files)


def _deepspeed_problem(folder: Folder, reader: FileReader) -> str:
    models = [name for name in folder.files if fnmatchcase(name, _MODEL)]
    if not models:
        return f"{folder.name}: the model's file is missing"
    problem = problem_of_files(folder, reader)
    if problem:
        return f"{folder.name}: {problem}"
    parts = sum(fnmatchcase(name, _OPTIMIZER) for name in folder.files)
    ranks = _ranks(folder, models[0])
    if 0 < parts < ranks:
        return f"{folder.name}: {parts} of {ranks} ranks have written their optimizer"
    return ""


def _ranks(folder: Folder, model: str) -> int:
    """Of data parallelism; 0 where the file does not say."""
    saved = read_saved(folder.path / model)
    ranks = saved.get("dp_world_size") if isinstance(saved, dict) else None
    return ranks if isinstance(ranks, int) else 0
