"""The training of one worker: the model, the loop and the checkpoints."""

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
from common.precision import Precision
from common.preparation import Preparation
from common.schedule import rate_at, settle_buckets
from common.shards import ImageReader, fingerprint
from common.torch_state import state_from_bytes, state_to_bytes
from common.vision_transformer import build_model
from config import STATE_FILE, Config
from prepare import read_samples, steps_per_epoch


class Learner:
    """`saves`: this worker writes checkpoints and the model for all."""

    def __init__(self, config: Config, *, rank: int, workers: int, saves: bool) -> None:
        torch.use_deterministic_algorithms(True, warn_only=torch.cuda.is_available())
        torch.set_num_threads(config.threads)
        torch.manual_seed(config.seed)
        self.config, self.rank, self.workers, self.saves = config, rank, workers, saves
        self.samples = read_samples(config.holdout_percent)
        self._data = fingerprint([*self.samples.training, *self.samples.held_out])
        self._reader = ImageReader(
            self.samples.training[0], 64, Preparation(config.side, config.blurs)
        )
        self.total = steps_per_epoch(self.samples, config) * config.epochs
        # Ray shows each worker its own GPU alone.
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        shape, classes = self._reader.shape, len(self.samples.labels)
        self.network = build_model(shape, classes, config).to(self.device)
        self._model: nn.Module = self.network
        self._example = torch.zeros(2, *shape, device=self.device)
        self.precision = Precision.choose(
            config.precision, self.network, self._example, config.batch_size // workers
        )
        self.optimizer = torch.optim.AdamW(
            self.network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        self.step = 0
        self._names: list[str] = json.loads(os.environ["SM_HOSTS"])
        self.hosts: Counter[str] = Counter()
        """How many of this worker's samples each host has prepared since the worker started."""
        self._loss = 0.0

    def resume(self, content: bytes | None) -> None:
        """`content`: the newest checkpoint, which the leader's host alone has."""
        if content is None:
            self._print("starting at step 0")
            return
        state = state_from_bytes(content)
        if state["data"] != self._data or state["totalSteps"] != self.total:
            raise ValueError(
                f"checkpoint of step {state['step']} belongs to other data or another length of "
                "training: name another checkpoint prefix, or bring the old settings back"
            )
        self.network.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        # Checkpoints of earlier releases have none.
        self.precision.load_state_dict(state.get("scaler", {}))
        self.step = state["step"]
        if state["workers"] != self.workers:
            before = state["workers"]
            self._print(f"{before} workers before, {self.workers} now: not equal to the bit")
        self._print(f"resumed at step {self.step} of {self.total}")

    def wrap(self, model: nn.Module) -> None:
        """`model`: the network that exchanges gradients between the workers."""
        self._model = model
        settle_buckets(model, self._example)

    def train(self, batches: Iterable[dict[str, torch.Tensor]]) -> bool:
        """`batches` are on the device.

        True when training has finished; False after a stop request, once it has saved.
        """
        for batch in batches:
            self._loss = self._train_step(batch)
            self.step += 1
            due_by_time = self.saves and tidewheel.save_due()
            due = self.step % self.config.checkpoint_steps == 0 or self.step == self.total
            stopping = self._any_worker(tidewheel.stop_soon())
            if stopping or due_by_time or due:
                self._save()
            time.sleep(self.config.pause)
            if stopping and self.step < self.total:
                # Ray ends its workers with the threads that still write.
                tidewheel.flush()
                self._print(f"stop requested: saved step {self.step} and leaving")
                return False
        return True

    def _train_step(self, batch: dict[str, torch.Tensor]) -> float:
        self.hosts.update(self._names[number] for number in batch["host"].tolist())
        # Dropout depends on step and rank alone, so a checkpoint need not hold its state.
        torch.manual_seed((self.config.seed + self.step) * 1009 + self.rank)
        for group in self.optimizer.param_groups:
            group["lr"] = rate_at(
                self.step,
                peak=self.config.learning_rate,
                warmup=self.config.warmup_steps,
                total=self.total,
            )
        self.optimizer.zero_grad(set_to_none=True)
        images = batch["image"]
        if self.config.prepare_on == "accelerator":
            images = self._reader.prepare(images)
        with self.precision.autocast():
            loss = nn.functional.cross_entropy(self._model(images), batch["target"])
        self.precision.backward(loss)
        self.precision.step(self.optimizer)
        return float(loss.detach())

    def _any_worker(self, stopping: bool) -> bool:
        if self.workers == 1:
            return stopping
        flag = torch.tensor([int(stopping)], device=self.device)
        torch.distributed.all_reduce(flag, op=torch.distributed.ReduceOp.MAX)
        return bool(flag)

    def _save(self) -> None:
        if not self.saves:
            return
        tidewheel.progress(self.step, self.total, loss=self._loss)
        state = {
            "model": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.precision.state_dict(),
            "workers": self.workers,
            "data": self._data,
            "step": self.step,
            "totalSteps": self.total,
        }
        metrics = {"loss": round(self._loss, 6)}
        keep = self.config.keep_checkpoints
        tidewheel.save(self.step, _write_state, state, total=self.total, metrics=metrics, keep=keep)

    @torch.no_grad()
    def finish(self) -> None:
        if not self.saves:
            return
        self.network.eval().cpu()
        held_out, labels = self.samples.held_out, self.samples.labels
        images = torch.stack([self._reader.read(sample) for sample in held_out])
        targets = torch.tensor([labels.index(sample.label) for sample in held_out])
        accuracy = (self.network(images).argmax(1) == targets).float().mean()
        folder = Path(os.environ["SM_MODEL_DIR"])
        torch.save(self.network.state_dict(), folder / "model.pt")
        metrics = {
            "accuracy": round(float(accuracy), 6),
            "step": self.step,
            "totalSteps": self.total,
        }
        document = {**metrics, "preparedOn": dict(self.hosts)}
        (folder / "metrics.json").write_text(json.dumps(document, indent=2) + "\n")
        tidewheel.flush()
        self._print(f"model saved: {document}")

    def _print(self, text: str) -> None:
        if self.saves:
            print(text, flush=True)


def _write_state(folder: Path, state: dict[str, Any]) -> None:
    """In another thread, while training continues."""
    (folder / STATE_FILE).write_bytes(state_to_bytes(state))
