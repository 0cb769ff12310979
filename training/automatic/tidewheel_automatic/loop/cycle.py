"""Where a training with several optimizers begins its next round, as a GAN does after both steps.

Between two steps of one round a loss may be waiting for its backward pass, and its graph cannot be
saved.
"""

from __future__ import annotations

import weakref

import torch

_RECENT = 64
"""Steps. An optimizer that has made none among the last ones belongs to an earlier phase."""


class Cycle:
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
