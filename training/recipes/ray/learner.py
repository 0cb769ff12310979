"""The training of one worker: the model, the loop, its checkpoints."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import nn

import tidewheel
from common import checkpoints, torch_state
from common.schedule import rate_at, settle_buckets
from common.shards import ImageReader, fingerprint
from common.vision_transformer import build_model
from config import Config
from prepare import describe, steps_per_epoch


class Learner:
    """`saves`: this worker writes for all."""

    def __init__(self, config: Config, *, rank: int, workers: int, saves: bool) -> None:
        torch.use_deterministic_algorithms(True, warn_only=torch.cuda.is_available())
        torch.set_num_threads(config.threads)
        torch.manual_seed(config.seed)
        self.config, self.rank, self.workers, self.saves = config, rank, workers, saves
        self.samples = describe(config.holdout_percent)
        self._data = fingerprint([*self.samples.training, *self.samples.held_out])
        self._reader = ImageReader(self.samples.training[0], 64)
        self.total = steps_per_epoch(self.samples, config) * config.epochs
        # Ray shows each worker its own GPU, and no other.
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        shape, classes = self._reader.shape, len(self.samples.labels)
        self.network = build_model(shape, classes, config).to(self.device)
        self._model: nn.Module = self.network
        self.optimizer = torch.optim.AdamW(
            self.network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        folder = tidewheel.checkpoint_dir()
        self.folder = Path(folder) if folder else None
        self.step = 0
        self.hosts: Counter[str] = Counter()
        """This worker's samples since it started, by the host that prepared them."""
        self._loss = 0.0
        self._seconds_before = 0.0
        self._started = self._saved_at = time.monotonic()

    def load(self, found: tuple[checkpoints.Saved, bytes] | None) -> None:
        if found is None:
            self._say("starting at step 0")
            return
        saved, content = found
        state = torch_state.unpack(content)
        if state["data"] != self._data or saved.total_steps != self.total:
            raise ValueError(
                f"checkpoint of step {saved.step} belongs to other data or another length of "
                "training: name another checkpoint prefix, or bring the old settings back"
            )
        self.network.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self._seconds_before = saved.step, saved.training_seconds
        if state["workers"] != self.workers:
            before = state["workers"]
            self._say(f"{before} workers before, {self.workers} now: not equal to the bit")
        self._say(f"resumed at step {saved.step} of {self.total}")

    def wrap(self, model: nn.Module) -> None:
        """`model`: the network with its gradients exchanged between the workers."""
        self._model = model
        settle_buckets(model, torch.zeros(2, *self._reader.shape, device=self.device))

    def train(self, batches: Iterable[dict[str, Any]]) -> bool:
        """True at the end; False when told to stop, saved."""
        interval = tidewheel.checkpoint_seconds() or float("inf")
        for batch in batches:
            self._loss = self._learn(batch)
            self.step += 1
            late = time.monotonic() - self._saved_at >= interval or tidewheel.save_soon()
            due = self.step % self.config.checkpoint_steps == 0 or self.step == self.total
            stopping = self._agree(tidewheel.stop_soon())
            if stopping or late or due:
                self._save()
            time.sleep(self.config.pause)
            if stopping and self.step < self.total:
                self._say(f"told to stop: saved step {self.step} and leaving")
                return False
        return True

    def _learn(self, batch: dict[str, Any]) -> float:
        self.hosts.update(str(host) for host in batch["host"])
        # What is dropped depends on step and rank alone: no state of it has to be saved.
        torch.manual_seed((self.config.seed + self.step) * 1009 + self.rank)
        for group in self.optimizer.param_groups:
            group["lr"] = rate_at(
                self.step,
                peak=self.config.learning_rate,
                warmup=self.config.warmup_steps,
                total=self.total,
            )
        self.optimizer.zero_grad(set_to_none=True)
        images = torch.as_tensor(batch["image"], device=self.device)
        targets = torch.as_tensor(batch["target"], device=self.device)
        on_gpu = self.device.type == "cuda"
        with torch.autocast(self.device.type, torch.bfloat16, enabled=on_gpu):
            loss = nn.functional.cross_entropy(self._model(images), targets)
        torch.autograd.backward(loss)
        self.optimizer.step()
        return float(loss.detach())

    def _agree(self, stopping: bool) -> bool:
        if self.workers == 1:
            return stopping
        flag = torch.tensor([int(stopping)], device=self.device)
        torch.distributed.all_reduce(flag, op=torch.distributed.ReduceOp.MAX)
        return bool(flag)

    def _save(self) -> None:
        self._saved_at = time.monotonic()
        if not self.saves:
            return
        tidewheel.progress(self.step, self.total, loss=self._loss)
        if self.folder is None:
            return
        seconds = self._seconds_before + time.monotonic() - self._started
        state = {
            "model": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "workers": self.workers,
            "data": self._data,
        }
        metrics = {"loss": round(self._loss, 6)}
        saved = checkpoints.Saved(self.step, self.total, seconds, metrics)
        content = torch_state.pack(state)
        checkpoints.save(self.folder, saved, content, keep=self.config.keep_checkpoints)

    @torch.no_grad()
    def finish(self) -> None:
        if not self.saves:
            return
        self.network.eval().cpu()
        held_out, labels = self.samples.held_out, self.samples.labels
        images = torch.stack([self._reader.read(sample) for sample in held_out])
        targets = torch.tensor([labels.index(sample.label) for sample in held_out])
        right = (self.network(images).argmax(1) == targets).float().mean()
        folder = Path(os.environ["SM_MODEL_DIR"])
        torch.save(self.network.state_dict(), folder / "model.pt")
        metrics = {"accuracy": round(float(right), 6), "step": self.step, "totalSteps": self.total}
        said = {**metrics, "preparedOn": dict(self.hosts)}
        (folder / "metrics.json").write_text(json.dumps(said, indent=2) + "\n")
        self._say(f"model saved: {said}")

    def _say(self, text: str) -> None:
        if self.saves:
            print(text, flush=True)
