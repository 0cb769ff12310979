"""The training loop: resumes, saves, and leaves after a stop request."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch

import tidewheel
from common.settings import TrainingSettings
from common.torch_state import (
    random_state,
    restore_random_state,
    state_from_bytes,
    state_to_bytes,
)
from common.world import SaveRequest, StopSignal, World

Batch = TypeVar("Batch")
_STATE = "state.bin"


class Task(Protocol[Batch]):
    """What the loop trains. `state_dict` holds everything that a step changes."""

    total_steps: int
    data: str
    """A fingerprint of the data and its order: a step number is valid only for the same data."""

    def batches(self, step: int) -> Iterator[Batch]:
        """This rank's part of every batch from `step` on."""
        ...

    def train_step(self, batch: Batch, step: int) -> torch.Tensor:
        """Trains on one batch; returns the loss. `step` counts from 0."""
        ...

    def evaluate(self, step: int, loss: torch.Tensor) -> dict[str, float] | None:
        """Metrics over all ranks, or None where none are due; always due after the last step."""
        ...

    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> None: ...

    def write_model(self, folder: Path) -> None:
        """Called on rank 0."""
        ...


class TrainingLoop:
    """Saves to TIDEWHEEL_CHECKPOINT_DIR, at least every TIDEWHEEL_CHECKPOINT_SECONDS.

    Without the folder it saves nothing.
    """

    def __init__(self, task: Task[Any], config: TrainingSettings, world: World) -> None:
        self.task, self.config, self.world = task, config, world
        self.step = 0
        self.metrics: dict[str, float] = {}
        self._saved_step = -1
        self._saved_at = time.monotonic()
        self._has_folder = tidewheel.checkpoint_dir() is not None
        self._save_request = SaveRequest()
        self._interval = float(os.environ.get("TIDEWHEEL_CHECKPOINT_SECONDS") or "inf")
        # From here random numbers differ between ranks, for dropout. The task was made before, with
        # the same weights on all.
        torch.manual_seed(config.seed + 1 + world.rank)

    def resume(self) -> None:
        """Loads the newest complete checkpoint of rank 0."""
        world, total = self.world, self.task.total_steps
        found = None
        if world.is_rank0 and (newest := tidewheel.newest()) is not None:
            found = newest, (newest.folder / _STATE).read_bytes()
        # Other ranks may run on hosts without the file.
        found = world.broadcast(found)
        if found is None:
            world.print0("starting at step 0")
            return
        checkpoint, content = found
        state = state_from_bytes(content)
        if state["data"] != self.task.data or state["totalSteps"] != total:
            raise ValueError(
                f"checkpoint of step {checkpoint.step} belongs to other data or another length of "
                "training: name another checkpoint prefix, or bring the old settings back"
            )
        self.task.load_state_dict(state)
        self.step = self._saved_step = checkpoint.step
        self.metrics = dict(checkpoint.metrics)
        states = state["random"]
        if len(states) == world.size:
            restore_random_state(states[world.rank])
        else:
            torch.manual_seed((self.config.seed + checkpoint.step) * 1009 + world.rank)
            world.print0(f"{len(states)} ranks before, {world.size} now: not equal to the bit")
        world.print0(f"resumed at step {checkpoint.step} of {total}")

    def train(self, stop: StopSignal) -> bool:
        """True when training has finished; False after a stop request, once it has saved."""
        self._saved_at = time.monotonic()
        total = self.task.total_steps
        for batch in self.task.batches(self.step):
            loss = self.task.train_step(batch, self.step)
            self.step += 1
            self._evaluate(loss)
            due_by_time = self.world.is_rank0 and (
                time.monotonic() - self._saved_at >= self._interval or self._save_request.is_new()
            )
            stopping, due = self.world.any_rank(
                stop.is_set(), due_by_time or self.step % self.config.checkpoint_steps == 0
            )
            if stopping or due or self.step == total:
                self._save()
            if stopping and self.step < total:
                tidewheel.flush()
                self.world.print0(f"stop requested: saved step {self.step} of {total} and leaving")
                return False
        tidewheel.flush()
        return True

    def save_model(self) -> None:
        """Rank 0 writes the model and its metrics."""
        if not self.metrics:
            self._evaluate(torch.zeros(()))
        if not self.world.is_rank0:
            return
        folder = Path(os.environ["SM_MODEL_DIR"])
        self.task.write_model(folder)
        metrics = {**self.metrics, "step": self.step, "totalSteps": self.task.total_steps}
        (folder / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n")
        self.world.print0(f"model saved: {self.metrics}")

    def _evaluate(self, loss: torch.Tensor) -> None:
        metrics = self.task.evaluate(self.step, loss)
        if metrics is None:
            return
        self.metrics = {name: round(value, 6) for name, value in metrics.items()}
        pairs = " ".join(f"{name}={value:.4f}" for name, value in self.metrics.items())
        # The agent reads this line.
        self.world.print0(f"tidewheel step={self.step} total={self.task.total_steps} {pairs}")

    def _save(self) -> None:
        if not self._has_folder or self.step == self._saved_step:
            return
        random_states = self.world.all_gather(random_state())
        self._saved_step, self._saved_at = self.step, time.monotonic()
        if not self.world.is_rank0:
            return
        state = {
            **self.task.state_dict(),
            "random": random_states,
            "data": self.task.data,
            "totalSteps": self.task.total_steps,
        }
        tidewheel.save(
            self.step,
            _write_state,
            state,
            total=self.task.total_steps,
            metrics=self.metrics,
            keep=self.config.keep_checkpoints,
        )


def _write_state(folder: Path, copy: dict[str, Any]) -> None:
    """In another thread, while training continues with the state behind `copy`."""
    (folder / _STATE).write_bytes(state_to_bytes(copy))
