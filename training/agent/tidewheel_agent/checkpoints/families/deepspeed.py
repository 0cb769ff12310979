"""DeepSpeed: the file `latest` names a folder, and is written after the folder's files.

Each rank writes its part of a ZeRO optimizer; the model's file says how many ranks there were.
Source: deepspeed/runtime/engine.py, `save_checkpoint`.
"""

from __future__ import annotations

import zipfile
from fnmatch import fnmatchcase

from ..formats.files import FileReader
from ..formats.inert_pickle import InertUnpickler, load_inert
from ..formats.step_names import position_in_name
from ..tree import Folder
from .found import Claim, Found, problem_of_files

_MODEL = "mp_rank_*_model_states.pt"
_OPTIMIZER = "*zero_pp_rank_*_optim_states.pt"


def find(folder: Folder, reader: FileReader) -> Claim | None:
    if "latest" not in folder.files or folder.files["latest"].size_bytes > 4096:
        return None
    tag = (folder.path / "latest").read_text(encoding="utf-8", errors="replace").strip()
    saved = [name for name, each in folder.folders.items() if _is_deepspeed(each)]
    if tag not in folder.folders or (tag not in saved and not tag.startswith("global_step")):
        return None
    inside = folder.folders[tag]
    files = {**dict(inside.all_files()), **folder.named({"latest"})}
    problem = _problem(inside, reader)
    found = Found("DeepSpeed", inside.name, files, position_in_name(tag), problem)
    return Claim((found,), frozenset({"latest", tag, *saved}))


def _is_deepspeed(folder: Folder) -> bool:
    return any(fnmatchcase(name, _MODEL) or "optim_states" in name for name in folder.files)


def _problem(folder: Folder, reader: FileReader) -> str:
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
    try:
        with zipfile.ZipFile(folder.path / model) as archive:
            name = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
            with archive.open(name) as file:
                saved = load_inert(InertUnpickler(file))  # type: ignore[arg-type]
    except (zipfile.BadZipFile, ValueError, StopIteration):
        return 0
    ranks = saved.get("dp_world_size") if isinstance(saved, dict) else None
    return ranks if isinstance(ranks, int) else 0
