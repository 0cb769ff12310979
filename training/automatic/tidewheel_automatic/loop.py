"""The loop that the script trains in: where its state can be saved, and its gradients."""

from __future__ import annotations

import weakref

import torch

from .fake_tensors import without_modes

_RECENT = 64
"""Steps. An optimizer that has made none among the last ones belongs to an earlier phase."""
Position = tuple[str, int]
"""`batch` and its number, or `step` and its number, where the script has no loader."""


class Boundaries:
    """Where the script's state can be saved: when it asks for the batch after a step."""

    def __init__(self) -> None:
        self._cycle = Cycle()
        self._batches = 0
        self._batches_at_step = 0
        self._is_pending = False
        """A step is done, and the next batch not yet asked for."""

    def before_batch(self) -> Position | None:
        """The script asks for a batch, so the step before is over."""
        self._batches += 1
        is_boundary, self._is_pending = self._is_pending, False
        return ("batch", self._batches) if is_boundary else None

    def after_step(self, step: int, optimizer: torch.optim.Optimizer | None) -> Position | None:
        is_complete = self._cycle.is_complete(step, optimizer)
        has_batch = self._batches > self._batches_at_step
        self._batches_at_step = self._batches
        if has_batch:
            self._is_pending = True
        elif is_complete:  # The script has no loader, or steps several times for a batch.
            self._is_pending = False
            return ("step", step)
        return None


class Cycle:
    """Where a training with several optimizers begins its next round: a GAN after both steps.

    Between two steps of one round a loss may be waiting for its backward pass, and its graph cannot
    be saved.
    """

    def __init__(self) -> None:
        self._last_steps: weakref.WeakKeyDictionary[torch.optim.Optimizer, int] = (
            weakref.WeakKeyDictionary()
        )
        """In the order of their first steps."""
        self._stepped: weakref.WeakSet[torch.optim.Optimizer] = weakref.WeakSet()
        """In this round."""

    def is_complete(self, step: int, optimizer: torch.optim.Optimizer | None) -> bool:
        """Whether all optimizers have made a step in this round. Call it after each step.

        `optimizer`: None for a script that updates its weights by itself.
        """
        if optimizer is None:
            return True
        before = self._recent(step)
        if before and optimizer is before[0] and self._have_stepped(before):
            self._stepped.clear()
        self._last_steps[optimizer] = step
        self._stepped.add(optimizer)
        return self._have_stepped(self._recent(step))

    def _recent(self, step: int) -> list[torch.optim.Optimizer]:
        return [one for one, last in self._last_steps.items() if last > step - _RECENT]

    def _have_stepped(self, optimizers: list[torch.optim.Optimizer]) -> bool:
        return all(one in self._stepped for one in optimizers)


class Gradients:
    """Those of a replay: a script may clip or read them, but their values do not matter.

    A replay leaves the backward pass out where it can, for nothing of it is kept.
    """

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
