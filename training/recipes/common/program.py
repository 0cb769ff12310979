"""From the command line to the model, once a rank."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from common.loop import Loop, Task
from common.settings import TrainingSettings
from common.torch_state import make_deterministic
from common.world import StopSignal, World, join_world, run_ranks

_Config = TypeVar("_Config", bound=TrainingSettings)


def run(kind: type[_Config], make_task: Callable[[_Config, World], Task[Any]]) -> None:
    """Trains as one of torchrun's ranks, or as a rank for each GPU of this host.

    Deterministic, checkpointed, resumed exactly: with the same number of ranks the final weights
    are bit for bit those of a run that was never interrupted. With another number of ranks the same
    steps see the same samples, but sums are taken in another order and dropout draws other numbers:
    equal to rounding and noise, not to the bit.
    """
    run_ranks(_Rank(kind, make_task), kind.from_arguments(sys.argv[1:]).devices)


class _Rank:
    """A class, since what goes to other processes must be found by its name there."""

    def __init__(self, kind: type[Any], make_task: Callable[[Any, World], Task[Any]]) -> None:
        self.kind, self.make_task = kind, make_task

    def __call__(self) -> None:
        """One rank, from its start to its end."""
        # Listens from now on: a warning may come while the ranks still meet.
        stop = StopSignal()
        config = self.kind.from_arguments(sys.argv[1:])
        make_deterministic(config.seed, config.threads)
        world = join_world()
        loop = Loop(self.make_task(config, world), config, world)
        loop.resume()
        if loop.train(stop):
            loop.save_model()
        world.leave()
