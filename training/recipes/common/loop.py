"""The loop around a training: going on where it stopped, saving, noticing the warning."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch

from common import checkpoints, torch_state
from common.settings import TrainingSettings
from common.world import SaveRequest, StopSignal, World

Batch = TypeVar("Batch")


class Task(Protocol[Batch]):
    """What is trained. All of it that a step changes is in `state`."""

    total_steps: int
    data: str
    """Changes with what is read, and its order: a position is only valid in the same data."""

    def batches(self, step: int) -> Iterator[Batch]:
        """This rank's part of every batch after the first `step` of them."""
        ...

    def learn(self, batch: Batch, step: int) -> torch.Tensor:
        """The step after the first `step`; returns its loss."""
        ...

    def evaluate(self, step: int, loss: torch.Tensor) -> dict[str, float] | None:
        """Figures over all ranks; None where no look is due. Always some after the last step."""
        ...

    def state(self) -> dict[str, Any]: ...
    def load(self, state: dict[str, Any]) -> None: ...

    def write_model(self, folder: Path) -> None:
        """Called on the first rank."""
        ...


class Loop:
    """Checkpoints go to TIDEWHEEL_CHECKPOINT_DIR, one at least every TIDEWHEEL_CHECKPOINT_SECONDS;
    nothing is saved where no folder is named."""

    def __init__(self, task: Task[Any], config: TrainingSettings, world: World) -> None:
        self.task, self.config, self.world = task, config, world
        self.step = 0
        self.metrics: dict[str, float] = {}
        self._seconds_before = 0.0
        self._saved_step = -1
        self._started = self._saved_at = time.monotonic()
        folder = os.environ.get("TIDEWHEEL_CHECKPOINT_DIR", "")
        self._folder = Path(folder) if folder else None
        self._asked = SaveRequest()
        self._interval = float(os.environ.get("TIDEWHEEL_CHECKPOINT_SECONDS") or "inf")
        # Ranks drop other features; the task was made with the same weights on all.
        torch.manual_seed(config.seed + 1 + world.rank)

    def resume(self) -> None:
        """Goes on from the newest whole checkpoint that the first rank has."""
        world, total = self.world, self.task.total_steps
        found = None
        if world.is_first and self._folder is not None:
            found = checkpoints.load_newest(self._folder)
        # The others may run on hosts that never saw the file.
        found = world.from_first(found)
        if found is None:
            world.say("starting at step 0")
            return
        saved, content = found
        state = torch_state.unpack(content)
        if state["data"] != self.task.data or state["totalSteps"] != total:
            raise ValueError(
                f"checkpoint of step {saved.step} belongs to other data or another length of "
                "training: name another checkpoint prefix, or bring the old settings back"
            )
        self.task.load(state)
        self.step = self._saved_step = saved.step
        self.metrics = dict(saved.metrics)
        self._seconds_before = saved.training_seconds
        states = state["random"]
        if len(states) == world.size:
            torch_state.restore_random(states[world.rank])
        else:
            torch.manual_seed((self.config.seed + saved.step) * 1009 + world.rank)
            world.say(f"{len(states)} ranks before, {world.size} now: not equal to the bit")
        world.say(f"resumed at step {saved.step} of {total}")

    def train(self, stop: StopSignal) -> bool:
        """Trains to the end, True; or until told to stop, saved, False."""
        self._started = self._saved_at = time.monotonic()
        total = self.task.total_steps
        for batch in self.task.batches(self.step):
            loss = self.task.learn(batch, self.step)
            self.step += 1
            self._evaluate(loss)
            late = self.world.is_first and (
                time.monotonic() - self._saved_at >= self._interval or self._asked.is_new()
            )
            stopping, due = self.world.agree(
                stop.is_set(), late or self.step % self.config.checkpoint_steps == 0
            )
            if stopping or due or self.step == total:
                self._save()
            if stopping and self.step < total:
                self.world.say(f"told to stop: saved step {self.step} of {total} and leaving")
                return False
        return True

    def save_model(self) -> None:
        """The first rank writes the model and what it reached."""
        if not self.metrics:
            self._evaluate(torch.zeros(()))
        if not self.world.is_first:
            return
        folder = Path(os.environ["SM_MODEL_DIR"])
        self.task.write_model(folder)
        metrics = {**self.metrics, "step": self.step, "totalSteps": self.task.total_steps}
        (folder / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n")
        self.world.say(f"model saved: {self.metrics}")

    def _evaluate(self, loss: torch.Tensor) -> None:
        found = self.task.evaluate(self.step, loss)
        if found is None:
            return
        self.metrics = {name: round(value, 6) for name, value in found.items()}
        pairs = " ".join(f"{name}={value:.4f}" for name, value in self.metrics.items())
        # The agent reads it from the log.
        self.world.say(f"tidewheel step={self.step} total={self.task.total_steps} {pairs}")

    def _save(self) -> None:
        if self._folder is None or self.step == self._saved_step:
            return
        states = self.world.gather(torch_state.random_state())
        self._saved_step, self._saved_at = self.step, time.monotonic()
        if not self.world.is_first:
            return
        seconds = self._seconds_before + time.monotonic() - self._started
        state = {
            **self.task.state(),
            "random": states,
            "data": self.task.data,
            "totalSteps": self.task.total_steps,
        }
        saved = checkpoints.Saved(self.step, self.task.total_steps, seconds, self.metrics)
        content = torch_state.pack(state)
        checkpoints.save(self._folder, saved, content, keep=self.config.keep_checkpoints)
