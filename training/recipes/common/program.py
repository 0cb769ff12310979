"""Runs a training from the command line to the model, in every rank."""

import os
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import tidewheel
from common.cores import bind_to_cores
from common.loop import Task, TrainingLoop
from common.settings import TrainingSettings
from common.torch_state import make_deterministic
from common.world import World, join_world, run_ranks

_Config = TypeVar("_Config", bound=TrainingSettings)


def run(kind: type[_Config], make_task: Callable[[_Config, World], Task[Any]]) -> None:
    """Trains as one of torchrun's ranks, or without torchrun as one rank per GPU of this host.

    Training is deterministic and resumes exactly: with the same number of ranks the final weights
    equal those of an uninterrupted run bit for bit. With another number of ranks the same steps see
    the same samples, but sums are added in another order and dropout draws other numbers.
    """
    run_ranks(_Rank(kind, make_task), kind.from_arguments(sys.argv[1:]).devices)


class _Rank:
    """A class at module level, because other processes must find it by name."""

    def __init__(self, kind: type[Any], make_task: Callable[[Any, World], Task[Any]]) -> None:
        self.kind, self.make_task = kind, make_task

    def __call__(self) -> None:
        """Runs one rank from start to end."""
        # Installs the SIGTERM handler: a warning may come while the ranks still connect.
        tidewheel.stop_soon()
        config = self.kind.from_arguments(sys.argv[1:])
        make_deterministic(config.seed, config.threads)
        if config.affinity == "cores":
            bind_to_cores(int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"]))
        world = join_world(timedelta(minutes=config.timeout_minutes))
        loop = TrainingLoop(self.make_task(config, world), config, world)
        loop.resume()
        if loop.train():
            loop.save_model()
        world.close()
