"""Kernels in Python before PyTorch's own, at keys that PyTorch leaves free."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..nesting import Nesting

_Key = torch._C.DispatchKey
BACKEND_SELECT = (_Key.BackendSelect.name,)
"""Every call passes it right before its kernel, in inference mode, too."""
AUTOGRAD = (_Key.AutogradCPU.name, _Key.AutogradCUDA.name)
"""Of calls by the script or by composed operations, not by kernels. Fake tensors have these keys,
too. In inference mode no call passes them."""
BELOW_BACKEND_SELECT = torch._C._dispatch_keyset_full_after(_Key.BackendSelect)
BELOW_AUTOGRAD = torch._C._dispatch_keyset_full_after(_Key.AutogradCPU)
"""The same for all devices."""


class Kernels:
    def __init__(self) -> None:
        self._libraries: dict[str, torch.library.Library] = {}

    def put(self, operation: Any, kernel: Callable[..., Any], keys: tuple[str, ...]) -> None:
        """`kernel` gets the call's keys first, and the arguments as they were given."""
        space, name = operation.name().split("::")
        if space not in self._libraries:
            self._libraries[space] = torch.library.Library(space, "IMPL")
        for key in keys:
            self._libraries[space].impl(name, kernel, key, with_keyset=True)

    def put_inside(self, operation: Any, nesting: Nesting, keys: tuple[str, ...]) -> None:
        """What the operation calls is PyTorch's own work, which no kernel records."""
        below = BELOW_AUTOGRAD if keys is AUTOGRAD else BELOW_BACKEND_SELECT

        def kernel(given: Any, *args: Any, **kwargs: Any) -> Any:
            with nesting.inside():
                return operation.redispatch(given & below, *args, **kwargs)

        self.put(operation, kernel, keys)

    def uninstall(self) -> None:
        for library in self._libraries.values():
            library._destroy()
        self._libraries.clear()
