"""Accelerate's `save_state`: weights first, then optimizers, schedulers, random states last.

Source: accelerate/checkpointing.py, `save_accelerator_state`.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from ..formats.files import FileReader
from ..tree import Folder
from .found import Claim, Found, position_of_folder, problem_of_files, whole_folder
from .weights import has_weights, missing_shards

_SIGNS = ("random_states_*.pkl", "optimizer.bin", "scheduler.bin", "sampler.bin")
_OPTIMIZERS = ("optimizer.bin", "optimizer_*", "pytorch_model", "global_step*")


def find(folder: Folder, reader: FileReader) -> Claim | None:
    if not any(fnmatchcase(name, sign) for name in folder.files for sign in _SIGNS):
        return None
    try:
        problem = _problem(folder, reader)
    except ValueError as error:
        problem = f"an index is cut off: {error}"
    found = Found(
        "Accelerate",
        folder.name,
        dict(folder.all_files()),
        position_of_folder(folder),
        f"{folder.name or folder.path.name}: {problem}" if problem else "",
    )
    return whole_folder(folder, found)


def _problem(folder: Folder, reader: FileReader) -> str:
    present = {*folder.files, *folder.folders}
    if not has_weights(folder):
        return "the weights are missing"
    missing = missing_shards(folder)
    if missing:
        return missing
    if not any(fnmatchcase(name, pattern) for name in present for pattern in _OPTIMIZERS):
        return "optimizer.bin is missing"
    ranks = sum(fnmatchcase(name, "random_states_*.pkl") for name in folder.files)
    for rank in range(max(1, ranks)):
        if f"random_states_{rank}.pkl" not in folder.files:
            return f"random_states_{rank}.pkl, which is written last, is missing"
    return problem_of_files(folder, reader)
