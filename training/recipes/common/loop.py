"""The training loop: resumes, saves, and leaves after a stop request."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler

import tidewheel
from common.first_model import FirstModel
from common.settings import TrainingSettings
from common.torch_state import restore_random_state
from common.training_state import Checkpoints, Facts, WholeState
from common.world import World

Batch = TypeVar("Batch")


class Task(Protocol[Batch]):
    """What the loop trains. `state_dict` holds everything that a step changes."""

    total_steps: int
    is_sharded: bool
    """Whether a rank holds only its part of the state."""
    data: str
    """A fingerprint of the data and its order: a step number is valid only for the same data."""
    first: FirstModel | None
    """What it began from."""

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

    def gather_weights(self) -> dict[str, Any]:
        """The whole model's state on rank 0. Called on every rank."""
        ...

    def write_model(self, folder: Path, weights: dict[str, Any]) -> None:
        """Called on rank 0."""
        ...


class TrainingLoop:
    """Saves to TIDEWHEEL_CHECKPOINT_DIR every `checkpoint_steps`, and between them as time asks.

    Without the folder it saves nothing.
    """

    def __init__(self, task: Task[Any], config: TrainingSettings, world: World) -> None:
        self.task, self.config, self.world = task, config, world
        self.step = 0
        self.metrics: dict[str, float] = {}
        self._saved_step = -1
        self._checkpoints = _make_checkpoints(task, world, config.keep_checkpoints)
        self._has_folder = tidewheel.checkpoint_dir() is not None
        # From here random numbers differ between ranks, for dropout. The task was made before, with
        # the same weights on all.
        torch.manual_seed(config.seed + 1 + world.rank)

    def resume(self) -> None:
        """Loads the newest whole checkpoint."""
        world, total = self.world, self.task.total_steps
        restored = self._checkpoints.restore(self.task)
        if restored is None:
            first = self.task.first
            if first is not None and first.weights is None:
                raise ValueError("the checkpoint of a training that began from a model is gone")
            world.print0("starting at step 0" + (", from a model" if first else ""))
            return
        step = self.step = self._saved_step = restored.facts.step
        self.metrics = restored.facts.metrics
        if restored.random is not None:
            restore_random_state(restored.random)
        else:
            torch.manual_seed((self.config.seed + step) * 1009 + world.rank)
            world.print0(f"{restored.ranks} ranks before, {world.size} now: not equal to the bit")
        world.print0(f"resumed at step {step} of {total}")

    def train(self) -> bool:
        """True when training has finished; False after a stop request, once it has saved."""
        trace = Trace(self.config.trace_steps if self.world.is_rank0 else 0)
        try:
            return self._train(trace)
        finally:
            trace.close()

    def _train(self, trace: Trace) -> bool:
        total = self.task.total_steps
        for batch in self.task.batches(self.step):
            loss = self.task.train_step(batch, self.step)
            self.step += 1
            trace.step()
            self._evaluate(loss)
            due_by_time = self.world.is_rank0 and self._checkpoints.is_due()
            stopping, due = self.world.any_rank(
                tidewheel.stop_soon(), due_by_time or self.step % self.config.checkpoint_steps == 0
            )
            if stopping or due or self.step == total:
                self._save()
            if stopping and self.step < total:
                self._checkpoints.flush()
                self.world.print0(f"stop requested: saved step {self.step} of {total} and leaving")
                return False
        self._checkpoints.flush()
        return True

    def save_model(self) -> None:
        """Rank 0 writes the model and its metrics."""
        if not self.metrics:
            self._evaluate(torch.zeros(()))
        weights = self.task.gather_weights()
        if not self.world.is_rank0:
            return
        folder = Path(os.environ["SM_MODEL_DIR"])
        self.task.write_model(folder, weights)
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
        self._saved_step = self.step
        if self.task.first is not None and self.world.is_rank0:
            self.task.first.keep()
        total, data = self.task.total_steps, self.task.data
        self._checkpoints.save(self.task, Facts(self.step, total, data, self.metrics))


def _make_checkpoints(task: Task[Any], world: World, keep: int) -> Checkpoints:
    if not task.is_sharded:
        return WholeState(world, keep)
    # The import takes half a second, which trainings of whole state save.
    from common.sharded_state import ShardedState

    return ShardedState(world, keep)


_SKIPPED = 5
"""The first steps allocate, load libraries and choose algorithms."""
_PRINTED = 12


class Trace:
    """PyTorch's profiler over `steps` steps of this process, after the first few; over none with 0.

    It shows which operations a step has, and the gaps between. The file opens in TensorBoard
    (plugin torch-tb-profiler), in https://ui.perfetto.dev and in chrome://tracing.
    """

    def __init__(self, steps: int) -> None:
        self._profiler: profile | None = None
        if steps == 0:
            return
        activities = [ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(ProfilerActivity.CUDA)
        self._profiler = profile(
            activities=activities,
            schedule=schedule(skip_first=_SKIPPED, wait=0, warmup=1, active=steps, repeat=1),
            on_trace_ready=_write,
        )
        self._profiler.start()

    def step(self) -> None:
        """After each step."""
        if self._profiler is not None:
            self._profiler.step()

    def close(self) -> None:
        """A training that ends earlier writes what it has."""
        if self._profiler is not None:
            self._profiler.stop()


def _write(profiler: profile) -> None:
    folder = Path(os.environ.get("SM_OUTPUT_DATA_DIR", ".")) / "trace"
    tensorboard_trace_handler(str(folder))(profiler)
    order = "self_cuda_time_total" if torch.cuda.is_available() else "self_cpu_time_total"
    table = profiler.key_averages().table(
        sort_by=order, row_limit=_PRINTED, max_name_column_width=40
    )
    print(f"{table}\ntrace in {folder}", flush=True)
