"""Functions of PyTorch that are replaced, and that `torch.jit.script` still compiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def replace(owner: Any, name: str, replacement: Callable[..., Any]) -> None:
    """Sets `owner.name`. TorchScript knows PyTorch's own functions by their identity.

    Code that it has compiled calls the original, so its reads are not recorded.
    """
    builtin = torch.jit._builtins._find_builtin(getattr(owner, name))
    setattr(owner, name, replacement)
    if builtin is not None:
        torch.jit._builtins._register_builtin(replacement, builtin)
