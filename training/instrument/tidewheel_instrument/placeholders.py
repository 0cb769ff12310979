"""Tensors of a batch that is not loaded yet, and becomes what it stands for at the first look."""

from __future__ import annotations

import copy
from collections import UserDict
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_map

_MOVES = {torch.Tensor.to, torch.Tensor.cuda, torch.Tensor.cpu, torch.Tensor.pin_memory}
"""Calls that look at no value; frameworks make them of every batch."""

Form = tuple[torch.Size, torch.dtype, torch.device]


class Placeholder(torch.Tensor):
    """The first call with it, but for one that moves it, makes it the real tensor, class and all.

    It has no memory: code in C++ that PyTorch does not dispatch fails with it.
    """

    read: Callable[[], torch.Tensor]
    form: Form

    @staticmethod
    def __new__(
        cls: type[Placeholder], form: Form, read: Callable[[], torch.Tensor]
    ) -> Placeholder:
        shape, dtype, device = form
        make: Any = torch.Tensor._make_wrapper_subclass
        made: Placeholder = make(cls, shape, dtype=dtype, device=device)
        made.read, made.form = read, form
        return made

    @classmethod
    def of(cls, tensor: torch.Tensor) -> Placeholder:
        return cls((tensor.shape, tensor.dtype, tensor.device), torch.Tensor)

    def __init__(self, *_: object) -> None: ...

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _MOVES and not _has_tensor(args[1:], kwargs):
            return _moved(args[0], lambda tensor: func(tensor, *args[1:], **kwargs))
        args, kwargs = real((args, kwargs))
        return func(*args, **kwargs)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        args, kwargs = real((args, kwargs or {}))
        return func(*args, **kwargs)


def _has_tensor(args: Any, kwargs: Any) -> bool:
    return any(isinstance(each, torch.Tensor) for each in (*args, *kwargs.values()))


def _moved(source: Placeholder, move: Callable[[torch.Tensor], torch.Tensor]) -> Placeholder:
    is_inference, grad = torch.is_inference_mode_enabled(), torch.is_grad_enabled()

    def read() -> torch.Tensor:
        tensor = _real(source)
        # As at the call, whatever the look stands in.
        with torch.inference_mode(is_inference), torch.set_grad_enabled(grad):
            result = move(tensor)
            # One that is there already. Two objects cannot become one.
            return result.detach() if result is tensor else result

    return Placeholder(source.form, read)


def _real(each: Any) -> Any:
    if not isinstance(each, Placeholder):
        return each
    tensor = each.read()
    try:
        torch.utils.swap_tensors(each, tensor)
    except RuntimeError:  # C++ holds it, or a weak reference.
        each.read = lambda: tensor
        return tensor
    return each


def real(arguments: Any) -> Any:
    """Put tensors in the place of placeholders."""
    return tree_map(_real, arguments)


def with_tensors(batch: Any, replace: Callable[[torch.Tensor], Any]) -> Any:
    """Make a batch of the same form. Raises TypeError where it holds anything but tensors."""
    if type(batch) in (torch.Tensor, Placeholder):
        return replace(batch)
    kind: Any = type(batch)
    if kind in (list, tuple):
        return kind(with_tensors(each, replace) for each in batch)
    if kind is dict:
        return {name: with_tensors(each, replace) for name, each in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return kind(*(with_tensors(each, replace) for each in batch))
    if isinstance(batch, UserDict):
        made = copy.copy(batch)
        made.data = with_tensors(batch.data, replace)
        return made
    raise TypeError(f"a batch holds {kind.__name__}")


def form_of(batch: Any) -> Any:
    """Return what is equal for two batches whose tensors have the same places."""
    return with_tensors(batch, lambda _: 0)
