"""Next-token prediction over packed text.

Which sequences each rank computes at each step is a pure function of seed, step and world size. The
step number is the whole position in the data. A run that resumes at step n therefore sees the same
sequences as one that was never interrupted.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from common.first_model import read_first_model
from common.schedule import count_parameters
from common.world import Share, World, is_sharded_by_host, share_of
from config import Config
from learner import Learner
from text import Merge, Tokenizer, learn_tokens, read_sequences, shard_files

_SAMPLE_TOKENS = 60

Numbers = npt.NDArray[np.int64]
"""Numbers of sequences."""


class LanguageTask:
    """A `Task` of the training loop."""

    def __init__(self, config: Config, world: World) -> None:
        self.config, self.world = config, world
        self._read_text()
        self.learner = Learner(config, world.device, self._tokenizer.size, self.first)
        self.is_sharded = config.sharding == "full"
        count = len(micro_batches(self._share.own, config.micro_batch))
        world.print0(
            f"{count_parameters(self.learner.network)} parameters on {world.device.type} in "
            f"{self.learner.precision.name}, {count} passes a step and rank"
        )

    def _read_text(self) -> None:
        config, world = self.config, self.world
        self._share = share_of(world, config.batch_size)
        shards = shard_files(Path(os.environ["SM_CHANNEL_TRAIN"]))
        self.first = read_first_model(config.init, world, "merges")
        self._tokenizer = Tokenizer(
            self.first.described["merges"] if self.first else self._learn(shards)
        )
        text = read_sequences(shards, self._tokenizer, config.context, config.holdout_percent)
        per_epoch = world.all_reduce_min(len(text.training) // self._share.batch_size)
        if per_epoch == 0 or len(text.held_out) == 0:
            raise ValueError(
                f"{len(text.training)} sequences to train on and {len(text.held_out)} held out are "
                f"too few for batches of {config.batch_size}: drop more text, or lower batch_size "
                "or context"
            )
        self._text = text
        self._order = Order(text.training, per_epoch, config.seed, self._share)
        self.total_steps = per_epoch * config.epochs
        self.data = "" if is_sharded_by_host() else text.fingerprint
        world.print0(
            f"{len(text.tokens)} tokens of {self._tokenizer.size} kinds, {len(text.training)} "
            f"sequences to train on, {per_epoch} steps an epoch, {world.size} ranks"
        )

    def _learn(self, shards: list[Path]) -> list[Merge]:
        """Hosts may hold different text, so all ranks use the tokens of rank 0."""
        world = self.world
        merges = learn_tokens(shards, self.config.vocabulary).merges if world.is_rank0 else None
        learnt: list[Merge] = world.broadcast(merges)
        return learnt

    def batches(self, step: int) -> Iterator[Numbers]:
        return self._order.from_step(step, self.total_steps)

    def train_step(self, batch: Numbers, step: int) -> torch.Tensor:
        parts = micro_batches(len(batch), self.config.micro_batch)
        rows = [self._text.batch(batch[part]) for part in parts]
        return self.learner.train_step(rows, step, self.total_steps)

    def evaluate(self, step: int, loss: torch.Tensor) -> dict[str, float] | None:
        """Loss, accuracy and bits per byte on the held-out part, each rank computing its share."""
        is_last = step == self.total_steps
        if step % self.config.evaluate_steps and not is_last:
            return None
        size = self.config.micro_batch
        held_out = self._text.held_out
        own = held_out[self._share.rank :: self._share.ranks]
        own = own if is_last else own[: self.config.evaluate_batches * size]
        sum_of_losses = correct = 0.0
        passes = self.world.all_reduce_max(math.ceil(len(own) / size))
        for start in range(0, passes * size, size):
            part = own[start : start + size]
            # A sharded model is computed by all ranks together, also for one that has no part left.
            losses, hits = self.learner.score(self._text.batch(part if len(part) else held_out[:1]))
            if len(part):
                sum_of_losses, correct = sum_of_losses + losses, correct + hits
        tokens = len(own) * self.config.context
        sums = self.world.all_reduce_sum(sum_of_losses, correct, tokens, float(loss))
        losses, hits, seen, trained = sums
        return {
            "loss": trained / self.world.size,
            "accuracy": hits / seen,
            "perplexity": math.exp(losses / seen),
            "bits_per_byte": losses / seen / math.log(2) / self._text.bytes_per_token,
        }

    def state_dict(self) -> dict[str, Any]:
        return self.learner.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.learner.load_state_dict(state)

    def gather_weights(self) -> dict[str, Any]:
        return self.learner.gather_weights()

    def write_model(self, folder: Path, weights: dict[str, Any]) -> None:
        """Writes the model and a sample of its text."""
        torch.save(weights, folder / "model.pt")
        settings = ("context", "width", "depth", "heads", "dropout")
        description = {
            "merges": self._tokenizer.merges,
            **{name: getattr(self.config, name) for name in settings},
        }
        (folder / "model.json").write_text(json.dumps(description) + "\n")
        network = self.learner.make_network().eval()
        network.load_state_dict(weights)
        start = [int(token) for token in self._text.tokens[: self.config.context // 2]]
        sample = self._tokenizer.decode(network.continue_text(start, _SAMPLE_TOKENS))
        (folder / "sample.txt").write_bytes(sample + b"\n")


@dataclass(frozen=True)
class Order:
    """The order of the sequences over all epochs."""

    sequences: npt.NDArray[np.int64]
    per_epoch: int
    """Steps of an epoch. Whole batches only: a rank without one would hang the others."""
    seed: int
    share: Share

    def from_step(self, step: int, end: int) -> Iterator[npt.NDArray[np.int64]]:
        """The numbers of this rank's sequences, step by step."""
        epoch, shuffled = -1, self.sequences
        for current in range(step, end):
            if current // self.per_epoch != epoch:
                epoch = current // self.per_epoch
                random = np.random.Generator(np.random.PCG64([self.seed, epoch]))
                shuffled = random.permutation(self.sequences)
            start = current % self.per_epoch * self.share.batch_size
            start += self.share.rank * self.share.own
            yield shuffled[start : start + self.share.own]


def micro_batches(own: int, micro_batch: int) -> list[slice]:
    """Cuts a rank's share of a batch into parts of at most `micro_batch`, as equal as possible."""
    count = -(-own // micro_batch)
    edges = [own * number // count for number in range(count + 1)]
    return [slice(start, end) for start, end in itertools.pairwise(edges)]
