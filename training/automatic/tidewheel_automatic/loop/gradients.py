"""The gradients of a replay: a script may clip or read them, but their values do not matter.

A replay leaves the backward pass out where it can, for nothing of it is kept.
"""

from __future__ import annotations

import weakref

import torch

from ..phantoms import without_modes


class Gradients:
    def __init__(self) -> None:
        self._optimizers: weakref.WeakSet[torch.optim.Optimizer] = weakref.WeakSet()
        """A search drops its models, and their memory with them."""
        self.has_optimizers = False
        self.has_backward_hooks = False
        """Whether a module calls the script's code, or a library's, in the backward pass."""

    def add_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        self._optimizers.add(optimizer)
        self.has_optimizers = True

    @property
    def need_backward(self) -> bool:
        """Whether a replay runs the backward pass: for hooks, or an update by hand."""
        return self.has_backward_hooks or not self.has_optimizers

    def fill(self) -> None:
        """Zeros for each parameter that an optimizer trains and that has no gradient."""
        with without_modes():
            for optimizer in self._optimizers:
                for group in optimizer.param_groups:
                    for parameter in group["params"]:
                        if parameter.grad is None and parameter.requires_grad:
                            parameter.grad = torch.zeros_like(parameter)
