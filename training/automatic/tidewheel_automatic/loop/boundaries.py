"""Where in the script's loop its state can be saved: when it asks for the batch after a step."""

from __future__ import annotations

import torch

from .cycle import Cycle

Position = tuple[str, int]
"""`batch` and its number, or `step` and its number, where the script has no loader."""


class Boundaries:
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
