"""Tensors as a checkpoint holds them."""

from __future__ import annotations

from typing import Any

import torch

from ..fake_tensors import is_fake
from ..journal import RefusedError
from .replicated import Copy


class SavedTensor:
    """One tensor on the CPU, with what is needed to put it back."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.device = str(tensor.device)
        self.is_parameter = isinstance(tensor, torch.nn.Parameter)
        self.trains = tensor.requires_grad and tensor.is_leaf
        self.had_graph = tensor.requires_grad and not tensor.is_leaf
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
        if is_fake(current):
            new = self.data.to(self.device)
            if self.is_parameter:
                new = torch.nn.Parameter(new, requires_grad=self.trains)
            elif self.trains:
                new.requires_grad_()
            elif self.had_graph:
                new = _without_graph(new)
        else:
            new = current
            # `parameter.data = …` in a step has put a fake tensor's data, of device meta, into it.
            has_data = not new.is_meta or self.data.is_meta
            if has_data and (new.shape, new.dtype) == (self.data.shape, self.data.dtype):
                with torch.inference_mode() if new.is_inference() else torch.no_grad():
                    new.copy_(self.data)
            else:
                new.data = self.data.to(self.device)
        if self.trains:
            new.grad = None if self.grad is None else self.grad.to(self.device)
        return new


def _without_graph(data: torch.Tensor) -> torch.Tensor:
    """As the script knows it, and an error where a gradient would have to flow through it."""
    made: torch.Tensor = _Lost.apply(data.requires_grad_())
    return made


class _Lost(torch.autograd.Function):
    @staticmethod
    def forward(_context: Any, data: torch.Tensor) -> torch.Tensor:
        return data.clone()

    @staticmethod
    def backward(_context: Any, *_gradients: torch.Tensor) -> None:
        raise RefusedError(
            "it was saved between two backward passes over one graph, which cannot be restored"
        )


def _compact(tensor: torch.Tensor) -> torch.Tensor:
    """Without autograd's graph, and without the rest of a large storage that it is a part of."""
    data = tensor.detach()
    if data.layout == torch.strided and data.untyped_storage().nbytes() > 2 * data.nbytes + 4096:
        return data.clone()
    return data


def pack(value: Any) -> Any:
    """Containers with their tensors as `SavedTensor`; everything else stays."""
    if isinstance(value, torch.Tensor):
        return SavedTensor(value)
    if type(value) in (list, tuple):
        return type(value)(pack(item) for item in value)
    if type(value) is dict:
        return {key: pack(item) for key, item in value.items()}
    return value


def unpack(value: Any, device: torch.device) -> Any:
    """`device`: the parameter's, which on another rank is another one."""
    if isinstance(value, SavedTensor):
        return value.data.to("cpu" if value.device == "cpu" else device)
    if type(value) in (list, tuple):
        return type(value)(unpack(item, device) for item in value)
    if type(value) is dict:
        return {key: unpack(item, device) for key, item in value.items()}
    return value
