"""The training loop and everything it needs."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import checkpoints
from batches import Batches, Share, load, spare_cpus, steps_per_epoch
from config import Config
from model import build_model, count_parameters, gradient_warm_up, rate_at
from shards import ImageReader, fingerprint, is_held_out, read_index
from world import StopSignal, World, random_state, restore_random

_EVALUATION_BATCH = 256


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
        self._read_data()
        self._build()

    def _read_data(self) -> None:
        config, world = self.config, self.world
        samples = read_index(Path(os.environ["SM_CHANNEL_TRAIN"]))
        own_shards = _is_sharded_by_host()
        pools = world.size // world.local_size if own_shards else 1
        ranks = world.size // pools
        if config.batch_size % world.size:
            raise ValueError(
                f"batch_size={config.batch_size} is not divisible by {world.size} ranks: "
                f"choose a multiple of {world.size}"
            )
        share = Share(
            rank=world.local_rank if own_shards else world.rank,
            ranks=ranks,
            batch_size=config.batch_size // pools,
        )
        self._share = share
        # Each host may hold other shards: the classes are those of all of them.
        self.labels = sorted(
            {label for seen in world.gather({s.label for s in samples}) for label in seen}
        )
        self._held_out = [s for s in samples if is_held_out(s.key, config.holdout_percent)]
        training = [s for s in samples if not is_held_out(s.key, config.holdout_percent)]
        per_epoch = world.smallest(steps_per_epoch(len(training), share))
        if per_epoch == 0 or not self._held_out:
            raise ValueError(
                f"{len(training)} training and {len(self._held_out)} held-out samples are too few "
                f"for batches of {config.batch_size}: drop more data or lower batch_size"
            )
        self.total_steps = per_epoch * config.epochs
        workers = config.loader_workers
        workers = spare_cpus(world.local_size) if workers < 0 else workers
        # Each of them keeps images of its own.
        self._reader = ImageReader(samples[0], config.cache_megabytes // max(1, workers))
        self._batches = Batches(
            training, self.labels, self._reader, per_epoch, config.seed, share, workers
        )
        self._data = "" if own_shards else fingerprint(samples)
        self._say(
            f"{len(training)} samples to train on, {len(self._held_out)} held out, "
            f"{len(self.labels)} classes, {per_epoch} steps an epoch, {world.size} ranks, "
            f"{workers} loader workers each"
        )

    def _build(self) -> None:
        config, device = self.config, self.world.device
        channels, _, _ = self._reader.shape
        network = build_model(channels, len(self.labels), config.width, config.dropout).to(device)
        self.network = network
        self._model: nn.Module = DistributedDataParallel(
            network, device_ids=[device.index] if device.type == "cuda" else None
        )
        self._optimizer = torch.optim.AdamW(
            network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        gradient_warm_up(
            self._model, torch.zeros(2, *self._reader.shape, device=device), len(self.labels)
        )
        # Ranks drop other features; all start from the same weights.
        torch.manual_seed(config.seed + 1 + self.world.rank)
        self._say(f"{count_parameters(network)} parameters on {device.type}")

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
        self.network.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
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
        per_epoch = self._batches.per_epoch
        self._model.train()
        loss = torch.zeros(())
        for step, images, targets in self._batches.from_step(self.step, self.total_steps):
            loss = self._learn(images, targets)
            self.step = step
            if step % per_epoch == 0 or step == self.total_steps:
                self._evaluate(loss)
            late = self.world.is_first and time.monotonic() - self._saved_at >= self._interval
            stopping, due = self.world.agree(
                stop.is_set(), late or step % self.config.checkpoint_steps == 0
            )
            if stopping or due or step == self.total_steps:
                self._save()
            if stopping and step < self.total_steps:
                self._say(f"told to stop: saved step {step} of {self.total_steps} and leaving")
                return False
        return True

    def _learn(self, images: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        for group in self._optimizer.param_groups:
            group["lr"] = rate_at(
                self.step,
                peak=self.config.learning_rate,
                warmup=self.config.warmup_steps,
                total=self.total_steps,
            )
        self._optimizer.zero_grad(set_to_none=True)
        device = self.world.device
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            outputs = self._model(images.to(device, non_blocking=True))
            loss = nn.functional.cross_entropy(outputs, targets.to(device, non_blocking=True))
        torch.autograd.backward(loss)
        self._optimizer.step()
        return loss.detach()

    @torch.no_grad()
    def _evaluate(self, loss: torch.Tensor) -> None:
        """Accuracy on the held-out part, each rank its share of it."""
        self._model.eval()
        own = self._held_out[self._share.rank :: self._share.ranks]
        right = 0
        for start in range(0, len(own), _EVALUATION_BATCH):
            images, targets = load(
                own[start : start + _EVALUATION_BATCH], self.labels, self._reader
            )
            outputs = self.network(images.to(self.world.device))
            right += int((outputs.argmax(1).cpu() == targets).sum())
        self._model.train()
        right_all, seen, losses = self.world.total(right, len(own), float(loss))
        self.metrics = {
            "loss": round(losses / self.world.size, 6),
            "accuracy": round(right_all / seen, 6),
        }
        self._report()

    def _report(self) -> None:
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
            "model": self.network.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "random": random_states,
            "data": self._data,
            "totalSteps": self.total_steps,
        }

    def save_model(self) -> None:
        """The first rank writes the model and what it reached."""
        if not self.metrics:
            self._evaluate(torch.zeros(()))
        if not self.world.is_first:
            return
        folder = Path(os.environ["SM_MODEL_DIR"])
        torch.save(self.network.state_dict(), folder / "model.pt")
        description = {
            "labels": self.labels,
            "shape": list(self._reader.shape),
            "width": self.config.width,
            "dropout": self.config.dropout,
        }
        (folder / "model.json").write_text(json.dumps(description, indent=2) + "\n")
        metrics = {**self.metrics, "step": self.step, "totalSteps": self.total_steps}
        (folder / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n")
        self._say(f"model saved: {self.metrics}")

    def _say(self, text: str) -> None:
        if self.world.is_first:
            print(text, flush=True)


def _is_sharded_by_host() -> bool:
    """Whether S3 gave each host its own shards of the channel."""
    said = json.loads(os.environ.get("SM_INPUT_DATA_CONFIG") or "{}")
    return bool(said.get("train", {}).get("S3DistributionType") == "ShardedByS3Key")
