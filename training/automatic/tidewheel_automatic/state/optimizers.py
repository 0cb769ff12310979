"""The state of optimizers, of PyTorch and of libraries: all that a replay without steps lacks."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import Any

import torch

from ..journal import RefusedError
from .replicated import Replicated, whole
from .tensors import pack, unpack

_ATOMS = (int, float, complex, bool, str, bytes, type(None), torch.dtype, torch.device)
_OWN = ("state", "param_groups", "defaults")


def state_of(optimizer: torch.optim.Optimizer, replicated: Collection[int]) -> list[Any]:
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


def restore(optimizer: torch.optim.Optimizer, saved: list[Any]) -> None:
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
