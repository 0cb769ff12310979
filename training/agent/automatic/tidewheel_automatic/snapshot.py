"""What a checkpoint holds beside the journal: tensors, optimizers and generators by their paths."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import torch

from . import randomness
from .journal import RefusedError
from .objects import Path, visit
from .phantoms import is_phantom, without_modes
from .replicated import Copy, Replicated, whole

_LARGE_BYTES = 1 << 20


def versions() -> dict[int, int]:
    """The version counter of each large tensor before the first step."""
    found: dict[int, int] = {}

    def note(_path: Path, value: Any, owned: bool) -> Any:
        if isinstance(value, torch.Tensor) and not owned and value.nbytes > _LARGE_BYTES:
            found[id(value)] = value._version
        return value

    visit(note)
    return found


def capture(unchanged: dict[int, int], replicated: Collection[int] = ()) -> dict[Path, Any]:
    """`unchanged`: what `versions` gave; such data is left out where no step has written it.

    `replicated`: the ids of parameters that all ranks share; they come as `Replicated`.
    """
    found: dict[Path, Any] = {}

    def note(path: Path, value: Any, owned: bool) -> Any:
        if isinstance(value, torch.optim.Optimizer):
            found[path] = _optimizer_state(value, replicated)
        elif id(value) in replicated:
            found[path] = Replicated(SavedTensor(value))
        elif not isinstance(value, torch.Tensor):
            found[path] = randomness.generator_state(value)
        elif is_phantom(value):
            raise RefusedError(f"{name_of(path)} holds a tensor that was not restored")
        elif owned or unchanged.get(id(value)) != value._version:
            found[path] = SavedTensor(value)
        return value

    visit(note)
    return found


def restore(saved: dict[Path, Any]) -> None:
    """Raises RefusedError for a parameter or optimizer that is not where it was."""
    left = dict(saved)
    optimizers: list[tuple[torch.optim.Optimizer, list[Any]]] = []

    def put(path: Path, value: Any, _owned: bool) -> Any:
        if path not in left:
            return value
        old = whole(left.pop(path))
        if isinstance(value, torch.optim.Optimizer):
            optimizers.append((value, old))
        elif isinstance(value, torch.Tensor):
            return old.into(value)
        else:
            randomness.set_generator_state(value, old)
        return value

    with without_modes():
        visit(put)
        # Its state belongs to the parameters, of which those made in the replay are others now.
        for optimizer, old in optimizers:
            _restore_optimizer(optimizer, old)
    missing = [path for path, old in left.items() if _must_be_there(whole(old))]
    if missing:
        raise RefusedError(f"{name_of(missing[0])} is not there when the script starts again")


def _must_be_there(old: Any) -> bool:
    return not isinstance(old, SavedTensor) or bool(old.trains)


class SavedTensor:
    """One tensor on the CPU, with what is needed to put it back."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.device = str(tensor.device)
        self.is_parameter = isinstance(tensor, torch.nn.Parameter)
        self.trains = tensor.requires_grad and tensor.is_leaf
        self.data = _compact(tensor)
        grad = tensor.grad if tensor.is_leaf else None
        self.grad = None if grad is None else _compact(grad)

    def __tidewheel_copy__(self, copy: Copy) -> SavedTensor:
        """See tidewheel/_state_copy.py."""
        copied = object.__new__(SavedTensor)
        copied.__dict__.update(self.__dict__)
        copied.data, copied.grad = copy("data", self.data), copy("grad", self.grad)
        return copied

    def into(self, current: torch.Tensor) -> torch.Tensor:
        """The restored tensor: the same object where it has data, else a new one."""
        if is_phantom(current):
            new = self.data.to(self.device)
            if self.is_parameter:
                new = torch.nn.Parameter(new, requires_grad=self.trains)
            elif self.trains:
                new.requires_grad_()
        else:
            new = current
            # `parameter.data = …` in a step has put a phantom's data, of device meta, into it.
            has_data = not new.is_meta or self.data.is_meta
            if has_data and (new.shape, new.dtype) == (self.data.shape, self.data.dtype):
                with torch.no_grad():
                    new.copy_(self.data)
            else:
                new.data = self.data.to(self.device)
        if self.trains:
            new.grad = None if self.grad is None else self.grad.to(self.device)
        return new


def _compact(tensor: torch.Tensor) -> torch.Tensor:
    """Without autograd's graph, and without the rest of a large storage that it is a part of."""
    data = tensor.detach()
    if data.layout == torch.strided and data.untyped_storage().nbytes() > 2 * data.nbytes + 4096:
        return data.clone()
    return data


def _optimizer_state(optimizer: torch.optim.Optimizer, replicated: Collection[int]) -> list[Any]:
    groups = []
    for group in optimizer.param_groups:
        options = {name: value for name, value in group.items() if name != "params"}
        states: list[Any] = []
        for parameter in group["params"]:
            state = optimizer.state.get(parameter, {})
            packed = {name: _pack(value) for name, value in state.items()}
            states.append(Replicated(packed) if id(parameter) in replicated else packed)
        groups.append((options, states))
    return groups


def _restore_optimizer(optimizer: torch.optim.Optimizer, saved: list[Any]) -> None:
    if len(saved) != len(optimizer.param_groups):
        raise RefusedError("an optimizer has another number of parameter groups than before")
    optimizer.state.clear()
    for group, (options, states) in zip(optimizer.param_groups, saved, strict=True):
        group.update(options)
        if len(states) != len(group["params"]):
            raise RefusedError("an optimizer has another number of parameters than before")
        for parameter, state in zip(group["params"], states, strict=True):
            if packed := whole(state):
                optimizer.state[parameter] = {
                    name: _unpack(value, parameter.device) for name, value in packed.items()
                }


def _pack(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return SavedTensor(value)
    if isinstance(value, list):
        return [_pack(item) for item in value]
    return value


def _unpack(value: Any, device: torch.device) -> Any:
    """`device`: the parameter's, which on another rank is another one."""
    if isinstance(value, SavedTensor):
        return value.data.to("cpu" if value.device == "cpu" else device)
    if isinstance(value, list):
        return [_unpack(item, device) for item in value]
    return value


def name_of(path: Path) -> str:
    """As a person writes it: `train.model.fc1.weight`."""
    shown = [str(part) for part in path[2:] if part not in (".", "_modules", "_parameters")]
    return ".".join(shown) or str(path)
