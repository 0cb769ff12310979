"""Stable-Baselines3's CheckpointCallback: the model, then what else it saves of the same step.

Source: stable_baselines3/common/callbacks.py, `CheckpointCallback._on_step`.
"""

import re

from ..formats.files import FileReader
from ..formats.step_names import Position
from ..tree import Folder
from .found import Claim, Found, first_problem

_MODEL = re.compile(r"(.+)_(\d+)_steps\.zip")
_MORE = re.compile(r"(.+)_(replay_buffer|vecnormalize)_(\d+)_steps\.pkl")


def find(folder: Folder, reader: FileReader) -> Claim | None:
    """None where models are all that is saved: each proves itself."""
    more = {name: match for name in folder.files if (match := _MORE.fullmatch(name))}
    found, claimed = [], set(more)
    for name in folder.files:
        model = _MODEL.fullmatch(name)
        if model is None:
            continue
        kinds = {match[2] for match in more.values() if match[1] == model[1]}
        needed = {f"{model[1]}_{kind}_{model[2]}_steps.pkl" for kind in kinds}
        if not needed:
            continue
        missing = sorted(needed - folder.files.keys())
        parts = {name, *needed} - {*missing}
        problem = f"{missing[0]} is missing" if missing else first_problem(folder, reader, parts)
        position = Position(int(model[2]), "step")
        files = folder.named(parts)
        found.append(Found("Stable-Baselines3", folder.child(name), files, position, problem))
        claimed |= parts
    return Claim(tuple(found), frozenset(claimed)) if found else None
