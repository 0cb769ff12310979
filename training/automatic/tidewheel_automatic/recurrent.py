"""Recurrent layers of a GPU whose dropout no checkpoint can hold.

cuDNN draws the dropout between the layers from a buffer of its own. PyTorch fills it at its first
use in a process, and neither Python nor a generator's state reaches it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from .torchscript import replace

_LAYERS = ("lstm", "gru", "rnn_tanh", "rnn_relu")
_NAMES = ("has_biases", "num_layers", "dropout", "train")
REASON = "cuDNN keeps the random numbers of the dropout between recurrent layers to itself"


def hook_recurrent_layers(cannot_save: Callable[[str], None]) -> None:
    """`cannot_save`: gets the reason at each use of such layers."""
    places: tuple[Any, ...] = (torch, torch._VF)
    for name in _LAYERS:
        hooked = _hooked(getattr(torch, name), cannot_save)
        for place in places:
            replace(place, name, hooked)


def _hooked(original: Callable[..., Any], cannot_save: Callable[[str], None]) -> Callable[..., Any]:
    @functools.wraps(original)
    def layers(*args: Any, **kwargs: Any) -> Any:
        if _draws_in_cudnn(args, kwargs):
            cannot_save(REASON)
        return original(*args, **kwargs)

    return layers


def _draws_in_cudnn(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Padded and packed sequences have other arguments before the first flag."""
    first_flag = next((i for i, value in enumerate(args) if isinstance(value, bool)), len(args))
    options = dict(zip(_NAMES, args[first_flag:], strict=False)) | kwargs
    draws = options.get("train") and options.get("dropout", 0) > 0
    if not draws or options.get("num_layers", 1) < 2:
        return False
    inputs = args[0] if args else kwargs.get("input", kwargs.get("data"))
    return bool(torch.backends.cudnn.enabled and getattr(inputs, "is_cuda", False))
