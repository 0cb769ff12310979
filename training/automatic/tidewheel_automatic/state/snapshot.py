"""What a checkpoint holds beside the journal: tensors, optimizers and generators by their paths."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Collection
from typing import Any

import torch

from ..fake_tensors import is_fake, without_modes
from ..journal import RefusedError
from ..loaders import live_loaders
from . import randomness
from .objects import Path, visit
from .replicated import Replicated, whole
from .tensors import SavedTensor, pack, unpack

Versions = dict[int, tuple[weakref.ref[torch.Tensor], int]]
_LARGE_BYTES = 1 << 20
_SPREAD = (
    "its weights are spread over ranks (FSDP or tensor parallelism): "
    "save them by torch.distributed.checkpoint"
)


def versions() -> Versions:
    """The version counter of each large tensor before the first step."""
    found: Versions = {}

    def note(_path: Path, value: Any, owned: bool) -> Any:
        is_large = isinstance(value, torch.Tensor) and value.nbytes > _LARGE_BYTES
        if is_large and not owned and not value.is_inference():
            found[id(value)] = weakref.ref(value), value._version
        return value

    visit(note, live_loaders())
    return found


def capture(unchanged: Versions, replicated: Collection[int] = ()) -> dict[Path, Any]:
    """`unchanged`: what `versions` gave; such data is left out where no step has written it.

    `replicated`: the ids of parameters that all ranks share; they come as `Replicated`.
    """
    found: dict[Path, Any] = {}

    def note(path: Path, value: Any, owned: bool) -> Any:
        if _is_part(value):
            raise RefusedError(_SPREAD)
        if isinstance(value, torch.optim.Optimizer):
            found[path] = _state_of_optimizer(value, replicated)
        elif id(value) in replicated:
            found[path] = Replicated(SavedTensor(value))
        elif not isinstance(value, torch.Tensor):
            found[path] = randomness.generator_state(value)
        elif is_fake(value):
            raise RefusedError(f"{name_of(path)} holds a tensor that was not restored")
        elif owned or value.is_inference() or not _is_unchanged(value, unchanged):
            found[path] = SavedTensor(value)
        return value

    visit(note, live_loaders())
    return found


def _is_unchanged(value: torch.Tensor, unchanged: Versions) -> bool:
    """The next epoch's tensor may lie where that of the first one was."""
    reference, version = unchanged.get(id(value), (None, 0))
    return reference is not None and reference() is value and version == value._version


def restore(saved: dict[Path, Any]) -> None:
    """Raises RefusedError for a parameter or optimizer that is not where it was."""
    left = dict(saved)
    found: list[tuple[torch.optim.Optimizer, Any]] = []

    def put(path: Path, value: Any, _owned: bool) -> Any:
        if path not in left:
            return value
        old = whole(left.pop(path))
        if isinstance(value, torch.optim.Optimizer):
            found.append((value, old))
        elif isinstance(value, torch.Tensor):
            return old.into(value)
        else:
            randomness.set_generator_state(value, old)
        return value

    with without_modes():
        visit(put, live_loaders())
        # Its state belongs to the parameters, of which those made in the replay are others now.
        for optimizer, old in found:
            _restore_optimizer(optimizer, old)
    missing = [path for path, old in left.items() if _must_be_there(whole(old))]
    if missing:
        raise RefusedError(f"{name_of(missing[0])} is not there when the script starts again")


def _is_part(value: Any) -> bool:
    """A DTensor, or the parameter in which FullyShardedDataParallel holds a rank's part.

    Known by their attributes, since a script without them has not loaded their classes.
    """
    return hasattr(value, "device_mesh") or bool(getattr(value, "_is_flat_param", False))


def _must_be_there(old: Any) -> bool:
    return not isinstance(old, SavedTensor) or bool(old.trains)


def name_of(path: Path) -> str:
    """As a person writes it: `train.model.fc1.weight`."""
    shown = [str(part) for part in path[2:] if part not in (".", "_modules", "_parameters")]
    return ".".join(shown) or str(path)


_ATOMS = (int, float, complex, bool, str, bytes, type(None), torch.dtype, torch.device)
_OWN = ("state", "param_groups", "defaults")


def _state_of_optimizer(optimizer: torch.optim.Optimizer, replicated: Collection[int]) -> list[Any]:
    """A pair of options and states for each group; then attributes, and states by other keys."""
    groups: list[Any] = []
    parameters: set[int] = set()
    for group in optimizer.param_groups:
        options = {name: value for name, value in group.items() if name != "params"}
        states: list[Any] = []
        for parameter in group["params"]:
            parameters.add(id(parameter))
            packed = pack(dict(optimizer.state.get(parameter, {})))
            states.append(Replicated(packed) if id(parameter) in replicated else packed)
        groups.append((options, states))
    others = {key: value for key, value in optimizer.state.items() if id(key) not in parameters}
    for key in others:
        if not isinstance(key, (str, int, tuple)):
            raise RefusedError(f"an optimizer keeps a state for a {type(key).__name__}")
    attributes = {
        name: pack(value)
        for name, value in vars(optimizer).items()
        if name not in _OWN and _is_data(value)
    }
    return [*groups, (attributes, pack(others), "beside")]


def _restore_optimizer(optimizer: torch.optim.Optimizer, saved: list[Any]) -> None:
    *groups, (attributes, others, _) = saved
    if len(groups) != len(optimizer.param_groups):
        raise RefusedError("an optimizer has another number of parameter groups than before")
    optimizer.state.clear()
    device = torch.device("cpu")
    for group, (options, states) in zip(optimizer.param_groups, groups, strict=True):
        group.update(options)
        if len(states) != len(group["params"]):
            raise RefusedError("an optimizer has another number of parameters than before")
        for parameter, state in zip(group["params"], states, strict=True):
            device = parameter.device
            if packed := whole(state):
                optimizer.state[parameter] = unpack(packed, device)
    optimizer.state.update(unpack(others, device))
    for name, value in attributes.items():
        setattr(optimizer, name, unpack(value, device))


def _is_data(value: Any) -> bool:
    """Numbers, arrays and what is made of them: no parameters, functions or objects.

    A tensor has a path of its own; a list of them may be one that the steps have made.
    """
    return not isinstance(value, torch.Tensor) and _is_value(value)


def _is_value(value: Any) -> bool:
    if isinstance(value, _ATOMS) or type(value).__module__ == "numpy":
        return True
    if isinstance(value, torch.Tensor):
        return not value.requires_grad
    if isinstance(value, dict):
        return all(map(_is_value, value)) and all(map(_is_value, value.values()))
    return isinstance(value, (list, tuple, deque, set)) and all(map(_is_value, value))
