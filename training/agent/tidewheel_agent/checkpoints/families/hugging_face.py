"""Hugging Face's Trainer and Accelerate.

Trainer writes weights, optimizer, scheduler, random states, then trainer_state.json. Source:
transformers/trainer.py, `_save_checkpoint`. `save_only_model` leaves the middle out. Accelerate's
`save_state` writes weights first, then optimizers, schedulers, random states last. Source:
accelerate/checkpointing.py, `save_accelerator_state`.
"""

from dataclasses import replace
from fnmatch import fnmatchcase

from ..checkpoint import finite_numbers
from ..formats.files import FileReader
from ..formats.inert_pickle import Inert
from ..formats.step_names import Position
from ..tree import Folder
from .found import (
    Claim,
    found_in,
    problem_of_files,
    read_json_object,
    read_saved,
    whole_folder,
)
from .weights import problem_of_weights

_STATE = "trainer_state.json"
_ARGUMENTS = "training_args.bin"
_OPTIMIZERS = ("optimizer.pt", "optimizer.bin", "optimizer_0")


def find(folder: Folder, reader: FileReader) -> Claim | None:
    is_of_trainer = _STATE in folder.files or _ARGUMENTS in folder.files
    # The folder above holds the finished model, with the same files except the optimizer's.
    if not is_of_trainer or not folder.base_name.startswith("checkpoint-"):
        return None
    try:
        state = read_json_object(folder, _STATE) if _STATE in folder.files else {}
        problem = _problem(folder, reader)
    except ValueError as error:
        state, problem = {}, f"{_STATE} or an index is cut off: {error}"
    step, total = state.get("global_step"), state.get("max_steps")
    position = Position(step, "step") if isinstance(step, int) else None
    found = replace(
        found_in(folder, "Hugging Face Trainer", problem, position),
        total_steps=total if isinstance(total, int) and total > 0 else None,
        metrics=_metrics(state),
    )
    return whole_folder(folder, found)


def _problem(folder: Folder, reader: FileReader) -> str:
    if _STATE not in folder.files:
        return f"{_STATE}, which is written last, is missing"
    if problem := problem_of_weights(folder):
        return problem
    if not _saves_only_the_model(folder):
        present = {*folder.files, *folder.folders}
        is_deepspeed = any(name.startswith("global_step") for name in folder.folders)
        if not is_deepspeed and not present.intersection(_OPTIMIZERS):
            return "optimizer.pt is missing"
        if not is_deepspeed and "scheduler.pt" not in present:
            return "scheduler.pt is missing"
        if not any(name.startswith("rng_state") for name in present):
            return "rng_state.pth is missing"
    return problem_of_files(folder, reader)


def _saves_only_the_model(folder: Folder) -> bool:
    if _ARGUMENTS not in folder.files:
        return False
    arguments = read_saved(folder.path / _ARGUMENTS)
    state = arguments.state if isinstance(arguments, Inert) else None
    return isinstance(state, dict) and state.get("save_only_model") is True


def _metrics(state: dict[str, object]) -> dict[str, float]:
    metrics: dict[str, float] = {}
    history = state.get("log_history")
    for entry in history if isinstance(history, list) else []:
        metrics |= finite_numbers(entry)
    return {name: value for name, value in metrics.items() if name not in ("step", "epoch")}


_ACCELERATE_SIGNS = ("random_states_*.pkl", "optimizer.bin", "scheduler.bin", "sampler.bin")
_ACCELERATE_OPTIMIZERS = ("optimizer.bin", "optimizer_*", "pytorch_model", "global_step*")


def find_accelerate(folder: Folder, reader: FileReader) -> Claim | None:
    if not any(fnmatchcase(name, sign) for name in folder.files for sign in _ACCELERATE_SIGNS):
        return None
    try:
        problem = _accelerate_problem(folder, reader)
    except ValueError as error:
        problem = f"an index is cut off: {error}"
    return whole_folder(folder, found_in(folder, "Accelerate", problem))


def _accelerate_problem(folder: Folder, reader: FileReader) -> str:
    present = {*folder.files, *folder.folders}
    if problem := problem_of_weights(folder):
        return problem
    if not any(
        fnmatchcase(name, pattern) for name in present for pattern in _ACCELERATE_OPTIMIZERS
    ):
        return "optimizer.bin is missing"
    ranks = sum(fnmatchcase(name, "random_states_*.pkl") for name in folder.files)
    for rank in range(max(1, ranks)):
        if f"random_states_{rank}.pkl" not in folder.files:
            return f"random_states_{rank}.pkl, which is written last, is missing"
    return problem_of_files(folder, reader)
