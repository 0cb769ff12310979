"""The training loop and everything it needs."""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path
from typing import Any

import torch

import checkpoints
from batches import Order, Share, passes
from config import Config
from learner import Learner
from model import count_parameters
from text import learn_tokens, read_sequences, shard_files
from tokens import Tokenizer
from world import StopSignal, World, random_state, restore_random

_SAMPLE_TOKENS = 60


class Trainer:
    def __init__(self, config: Config, world: World) -> None:
        self.config = config
        self.world = world
        self.step = 0
        self.metrics: dict[str, float] = {}
        self._seconds_before = 0.0
        self._started = time.monotonic()
        self._saved_step = -1
        self._saved_at = time.monotonic()
        folder = os.environ.get("TIDEWHEEL_CHECKPOINT_DIR", "")
        self._folder = Path(folder) if folder else None
        self._interval = float(os.environ.get("TIDEWHEEL_CHECKPOINT_SECONDS") or "inf")
        self._read_text()
        self._build()

    def _read_text(self) -> None:
        config, world = self.config, self.world
        own_shards = _is_sharded_by_host()
        pools = world.size // world.local_size if own_shards else 1
        if config.batch_size % world.size:
            raise ValueError(
                f"batch_size={config.batch_size} is not divisible by {world.size} ranks: "
                f"choose a multiple of {world.size}"
            )
        self._share = Share(
            rank=world.local_rank if own_shards else world.rank,
            ranks=world.size // pools,
            batch_size=config.batch_size // pools,
        )
        shards = shard_files(Path(os.environ["SM_CHANNEL_TRAIN"]))
        # Hosts may hold different text: the first rank's tokens hold for all.
        learnt = learn_tokens(shards, config.vocabulary).merges if world.is_first else None
        self._tokenizer = Tokenizer(world.from_first(learnt))
        text = read_sequences(shards, self._tokenizer, config.context, config.holdout_percent)
        per_epoch = world.smallest(len(text.training) // self._share.batch_size)
        if per_epoch == 0 or len(text.held_out) == 0:
            raise ValueError(
                f"{len(text.training)} sequences to train on and {len(text.held_out)} held out are "
                f"too few for batches of {config.batch_size}: drop more text, or lower batch_size "
                "or context"
            )
        self._text = text
        self._order = Order(text.training, per_epoch, config.seed, self._share)
        self.total_steps = per_epoch * config.epochs
        self._data = "" if own_shards else text.fingerprint
        self._say(
            f"{len(text.tokens)} tokens of {self._tokenizer.size} kinds, {len(text.training)} "
            f"sequences to train on, {per_epoch} steps an epoch, {world.size} ranks"
        )

    def _build(self) -> None:
        config = self.config
        self.learner = Learner(config, self.world.device, self._tokenizer.size)
        # Ranks drop other features; all start from the same weights.
        torch.manual_seed(config.seed + 1 + self.world.rank)
        kind = str(self.learner.precision.kind).removeprefix("torch.")
        count = len(passes(self._share.own, config.micro_batch))
        self._say(
            f"{count_parameters(self.learner.network)} parameters on {self.world.device.type} in "
            f"{kind}, {count} passes a step and rank"
        )

    def resume(self) -> None:
        """Goes on from the newest whole checkpoint that the first rank has."""
        found = None
        if self.world.is_first and self._folder is not None:
            found = checkpoints.load_newest(self._folder)
        # The others may run on hosts that never saw the file.
        found = self.world.from_first(found)
        if found is None:
            self._say("starting at step 0")
            return
        saved, content = found
        state = checkpoints.unpack(content)
        if state["data"] != self._data or state["totalSteps"] != self.total_steps:
            raise ValueError(
                f"checkpoint of step {saved.step} belongs to other data or another length of "
                "training: name another checkpoint prefix, or bring the old settings back"
            )
        self.learner.load(state)
        self.step = self._saved_step = saved.step
        self.metrics = dict(saved.metrics)
        self._seconds_before = saved.training_seconds
        states = state["random"]
        if len(states) == self.world.size:
            restore_random(states[self.world.rank])
        else:
            torch.manual_seed((self.config.seed + saved.step) * 1009 + self.world.rank)
            self._say(f"{len(states)} ranks before, {self.world.size} now: not equal to the bit")
        self._say(f"resumed at step {saved.step} of {self.total_steps}")

    def train(self, stop: StopSignal) -> bool:
        """Trains to the end, True; or until told to stop, saved, False."""
        self._started = self._saved_at = time.monotonic()
        for numbers in self._order.from_step(self.step, self.total_steps):
            parts = passes(len(numbers), self.config.micro_batch)
            rows = [self._text.batch(numbers[part]) for part in parts]
            loss = self.learner.learn(rows, self.step, self.total_steps)
            self.step += 1
            step, is_last = self.step, self.step == self.total_steps
            if step % self.config.evaluate_steps == 0 or is_last:
                self._evaluate(loss, None if is_last else self.config.evaluate_batches)
            late = self.world.is_first and time.monotonic() - self._saved_at >= self._interval
            stopping, due = self.world.agree(
                stop.is_set(), late or step % self.config.checkpoint_steps == 0
            )
            if stopping or due or is_last:
                self._save()
            if stopping and not is_last:
                self._say(f"told to stop: saved step {step} of {self.total_steps} and leaving")
                return False
        return True

    def _evaluate(self, loss: torch.Tensor, batches: int | None) -> None:
        """Bits per byte on the held-out part, each rank its share of it."""
        size = self.config.micro_batch
        own = self._text.held_out[self._share.rank :: self._share.ranks]
        own = own if batches is None else own[: batches * size]
        sum_of_losses = right = 0.0
        for start in range(0, len(own), size):
            losses, hits = self.learner.score(self._text.batch(own[start : start + size]))
            sum_of_losses, right = sum_of_losses + losses, right + hits
        tokens = len(own) * self.config.context
        losses, hits, seen, trained = self.world.total(sum_of_losses, right, tokens, float(loss))
        bits = losses / seen / math.log(2) / self._text.bytes_per_token
        self.metrics = {
            "loss": round(trained / self.world.size, 6),
            "accuracy": round(hits / seen, 6),
            "perplexity": round(math.exp(losses / seen), 6),
            "bits_per_byte": round(bits, 6),
        }
        pairs = " ".join(f"{name}={value:.4f}" for name, value in self.metrics.items())
        self._say(f"tidewheel step={self.step} total={self.total_steps} {pairs}")

    def _save(self) -> None:
        if self._folder is None or self.step == self._saved_step:
            return
        states = self.world.gather(random_state())
        self._saved_step, self._saved_at = self.step, time.monotonic()
        if self.world.is_first:
            seconds = self._seconds_before + time.monotonic() - self._started
            saved = checkpoints.Saved(self.step, self.total_steps, seconds, self.metrics)
            checkpoints.save(self._folder, saved, self._state(states), self.config.keep_checkpoints)

    def _state(self, random_states: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            **self.learner.state(),
            "random": random_states,
            "data": self._data,
            "totalSteps": self.total_steps,
        }

    def save_model(self) -> None:
        """The first rank writes the model, what it reached, and a piece of its own text."""
        if not self.metrics:
            self._evaluate(torch.zeros(()), None)
        if not self.world.is_first:
            return
        folder = Path(os.environ["SM_MODEL_DIR"])
        torch.save(self.learner.network.state_dict(), folder / "model.pt")
        settings = ("context", "width", "depth", "heads", "dropout")
        description = {
            "merges": self._tokenizer.merges,
            **{name: getattr(self.config, name) for name in settings},
        }
        (folder / "model.json").write_text(json.dumps(description) + "\n")
        metrics = {**self.metrics, "step": self.step, "totalSteps": self.total_steps}
        (folder / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n")
        network = self.learner.network.eval()
        start = [int(token) for token in self._text.tokens[: self.config.context // 2]]
        sample = self._tokenizer.decode(network.continue_text(start, _SAMPLE_TOKENS))
        (folder / "sample.txt").write_bytes(sample + b"\n")
        self._say(f"model saved: {self.metrics}")

    def _say(self, text: str) -> None:
        if self.world.is_first:
            print(text, flush=True)


def _is_sharded_by_host() -> bool:
    """Whether S3 gave each host its own shards of the channel."""
    said = json.loads(os.environ.get("SM_INPUT_DATA_CONFIG") or "{}")
    return bool(said.get("train", {}).get("S3DistributionType") == "ShardedByS3Key")
