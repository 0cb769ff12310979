"""What all strategies share in training this model: data, position, saving, reporting."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

import tidewheel
from arrays import Arrays, arrays_from_bytes, arrays_to_bytes
from common.checkpoints import CheckpointInfo, load_checkpoint, save_checkpoint
from config import Config
from pipe import is_piped
from plan import Plan, shard_files
from records import read_clicks, read_positions


class TrainingRun:
    """`is_main`: this process saves and prints for all. `reads_pipes`: it can read Pipes."""

    def __init__(self, config: Config, *, is_main: bool, reads_pipes: bool = False) -> None:
        if is_piped() and not reads_pipes:
            raise ValueError(
                "the channel train is a Pipe, and this program reads files: declare inputMode File "
                "or FastFile, or train with train_mpi.py"
            )
        self.config = config
        self.is_main = is_main
        # With Pipes the data for evaluation comes as files, in the channel `evaluation`.
        channel = "SM_CHANNEL_EVALUATION" if is_piped() else "SM_CHANNEL_TRAIN"
        files = shard_files(Path(os.environ[channel]), 1 if is_piped() else 2)
        training, self.held_out = files[:-1] or files, files[-1]
        self.positions = {path: read_positions(path) for path in training}
        counts = [(path, len(self.positions[path])) for path in training]
        self.plan = Plan(counts, config.batch_size, config.epochs, config.seed)
        self.total = config.steps if is_piped() else self.plan.total
        if is_piped() and config.steps == 0:
            raise ValueError(
                "steps=0: give the number of steps, because a Pipe does not tell its length"
            )
        if self.plan.per_epoch == 0 and not is_piped():
            raise ValueError(
                f"no shard holds batch_size={config.batch_size} records: lower batch_size"
            )
        folder = tidewheel.checkpoint_dir()
        self.folder = Path(folder) if folder else None
        self._interval = tidewheel.checkpoint_seconds() or float("inf")
        self._earlier_seconds = 0.0
        self._started = self._saved_at = time.monotonic()
        self.metrics: dict[str, float] = {}
        # Installs the SIGTERM handler now: a stop may come while the cluster still forms.
        tidewheel.stop_soon()

    def resume(self) -> tuple[int, Arrays]:
        """The number of batches done, and the arrays learned by then."""
        found = load_checkpoint(self.folder) if self.folder else None
        if found is None:
            self.print0("starting at step 0")
            return 0, {}
        info, content = found
        if info.total_steps != self.total:
            raise ValueError(
                f"checkpoint of step {info.step} belongs to another length of training "
                f"({info.total_steps} steps, now {self.total}): name another checkpoint "
                "prefix, or bring the old settings and data back"
            )
        self._earlier_seconds = info.training_seconds
        self.metrics = dict(info.metrics)
        self.print0(f"resumed at step {info.step} of {self.total}")
        return info.step, arrays_from_bytes(content)

    def is_due(self, step: int, steps_now: int = 1) -> bool:
        """Whether a checkpoint is due at `step`, which the last `steps_now` steps have led to."""
        every = self.config.checkpoint_steps
        by_time = time.monotonic() - self._saved_at >= self._interval or tidewheel.save_soon()
        return by_time or step // every > (step - steps_now) // every or step >= self.total

    def save(self, step: int, learned: Arrays) -> None:
        self._saved_at = time.monotonic()
        if self.folder is None or not self.is_main:
            return
        seconds = self._earlier_seconds + time.monotonic() - self._started
        info = CheckpointInfo(step, self.total, seconds, self.metrics)
        keep = self.config.keep_checkpoints
        save_checkpoint(self.folder, info, arrays_to_bytes(learned), keep=keep)

    def report(self, step: int, **metrics: float) -> None:
        self.metrics |= {name: round(value, 6) for name, value in metrics.items()}
        if self.is_main:
            tidewheel.progress(step, self.total, **self.metrics)

    def finish(self, learned: Arrays, probabilities: npt.NDArray[np.float64]) -> None:
        """Writes the model and its metrics on the held-out shard."""
        labels, _, _ = self.evaluation_data()
        self.report(self.total, auc=area_under_curve(labels, probabilities))
        folder = Path(os.environ["SM_MODEL_DIR"])
        weights = {
            name: value for name, value in learned.items() if not name.startswith("adagrad/")
        }
        (folder / "model.npz").write_bytes(arrays_to_bytes(weights))
        metrics = {**self.metrics, "step": self.total, "totalSteps": self.total}
        (folder / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n")
        self.print0(f"model saved: {self.metrics}")

    def evaluation_data(
        self,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        clicks = list(read_clicks(self.held_out, read_positions(self.held_out)))
        return (
            np.array([click.label for click in clicks], np.int64),
            np.array([click.ids for click in clicks], np.int64),
            np.array([click.values for click in clicks], np.float32),
        )

    def print0(self, text: str) -> None:
        if self.is_main:
            print(text, flush=True)


def area_under_curve(labels: npt.NDArray[np.int64], scores: npt.NDArray[np.float64]) -> float:
    """The probability that a click scores higher than a non-click."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores, kind="stable")] = np.arange(1, len(scores) + 1)
    clicks = int(labels.sum())
    others = len(labels) - clicks
    return float((ranks[labels == 1].sum() - clicks * (clicks + 1) / 2) / (clicks * others))


def first_weights(config: Config, fields: int, values: int) -> Arrays:
    """The initial weights, the same for every framework."""
    random = np.random.default_rng(config.seed)
    width = fields * config.dimensions + values

    def drawn(*shape: int) -> npt.NDArray[np.float32]:
        values = random.standard_normal(shape) / np.sqrt(shape[0])
        return np.asarray(values, np.float32)

    table = random.standard_normal((config.vocabulary, config.dimensions)) * 0.05
    weights: Arrays = {
        "bias": np.zeros(1, np.float32),
        "embedding": table.astype(np.float32),
        "hidden1": drawn(width, config.hidden),
        "hidden1_bias": np.zeros(config.hidden, np.float32),
        "hidden2": drawn(config.hidden, config.hidden),
        "hidden2_bias": np.zeros(config.hidden, np.float32),
        "linear": np.zeros((config.vocabulary, 1), np.float32),
        "output": drawn(config.hidden, 1),
        "value_weights": np.zeros((values, 1), np.float32),
    }
    start = {f"adagrad/{name}": np.full_like(value, 0.1) for name, value in weights.items()}
    return {**weights, **start}
