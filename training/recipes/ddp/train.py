"""Trains an image classifier over packed shards on any number of processes: torchrun's, or one for
each GPU of this host.

Deterministic, checkpointed, resumed exactly: with the same number of ranks the final weights are
bit for bit those of a run that was never interrupted. With another number of ranks the same steps
see the same samples, but sums are taken in another order and dropout draws other numbers: equal to
rounding and noise, not to the bit.
"""

from __future__ import annotations

import sys

from config import Config
from trainer import Trainer
from world import StopSignal, join_world, make_deterministic, run_ranks


def train() -> None:
    """One rank, from its start to its end."""
    stop = StopSignal()
    config = Config.from_arguments(sys.argv[1:])
    make_deterministic(config.seed, config.threads)
    world = join_world()
    trainer = Trainer(config, world)
    trainer.resume()
    if trainer.train(stop):
        trainer.save_model()
    world.leave()


if __name__ == "__main__":
    run_ranks(train, Config.from_arguments(sys.argv[1:]).devices)
