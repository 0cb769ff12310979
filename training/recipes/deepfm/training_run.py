"""What all strategies share in training this model: data, position, saving, reporting."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

import tidewheel
from arrays import Arrays, arrays_from_bytes, arrays_to_bytes
from common.arithmetic import kind_for
from config import Config
from pipe import is_piped
from plan import Plan, shard_files
from records import Click, read_clicks, read_positions

_STATE = "state.bin"


class TrainingRun:
    """`is_main`: this process saves and prints for all. `reads_pipes`: it can read Pipes. `limits`:
    its ranks can wait for each other for a limited time."""

    def __init__(
        self, config: Config, *, is_main: bool, reads_pipes: bool = False, limits: bool = False
    ) -> None:
        if config.timeout_minutes and not limits:
            raise ValueError(
                f"timeout_minutes={config.timeout_minutes}: only Horovod's ranks have such a "
                "limit, and these processes wait for each other as long as it takes: leave it out"
            )
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
        self.metrics: dict[str, float] = {}
        # Installs the SIGTERM handler now: a stop may come while the cluster still forms.
        tidewheel.stop_soon()

    def resume(self) -> tuple[int, Arrays]:
        """The number of batches done, and the arrays learned by then."""
        found = tidewheel.newest()
        if found is None:
            self.print0("starting at step 0")
            return 0, {}
        if found.total != self.total:
            raise ValueError(
                f"checkpoint of step {found.step} belongs to another length of training "
                f"({found.total} steps, now {self.total}): name another checkpoint "
                "prefix, or bring the old settings and data back"
            )
        self.metrics = dict(found.metrics)
        self.print0(f"resumed at step {found.step} of {self.total}")
        return found.step, arrays_from_bytes((found.folder / _STATE).read_bytes())

    def is_due(self, step: int, steps_now: int = 1) -> bool:
        """Whether a checkpoint is due at `step`, which the last `steps_now` steps have led to."""
        every = self.config.checkpoint_steps
        return (
            tidewheel.save_due()
            or step // every > (step - steps_now) // every
            or step >= self.total
        )

    def save(self, step: int, learned: Arrays) -> None:
        """Returns once `learned` is copied: another thread writes it."""
        if self.is_main:
            keep = self.config.keep_checkpoints
            tidewheel.save(
                step, _write_state, learned, total=self.total, metrics=self.metrics, keep=keep
            )

    def example(self) -> Click:
        """The first record, which shows how many fields and values each has."""
        path, _ = self.plan.shards[0]
        return next(read_clicks(path, self.positions[path][:1]))

    def kind(self, capability: tuple[int, int] | None, parts: int) -> str:
        """In what the layers are computed, where each of `parts` takes its share of a batch.

        `capability`: of the oldest GPU, None without one.
        """
        config, example = self.config, self.example()
        width = len(example.ids) * config.dimensions + len(example.values)
        operations = 2 * config.batch_size / parts * width * config.hidden
        return kind_for(config.precision, capability, operations)

    def own_share(self, parts: int, kind: str = "ranks") -> int:
        """Records of a batch for each of the parts. Raises ValueError."""
        if self.config.batch_size % parts:
            raise ValueError(
                f"batch_size={self.config.batch_size}: choose a multiple of {parts} {kind}"
            )
        return self.config.batch_size // parts

    def end_step(
        self, step: int, loss: float, *, due: bool, stopping: bool, arrays: Callable[[], Arrays]
    ) -> bool:
        """After a step at whose end all processes save together; True when they must leave."""
        if due or stopping or step % 10 == 0:
            self.report(step, loss=loss)
        time.sleep(self.config.pause)
        if due or stopping:
            self.save(step, arrays())
        if stopping and step < self.total:
            self.leave(step)
            return True
        return False

    def leave(self, step: int) -> None:
        """Waits for the last save. Launchers end a program with the threads that still write."""
        tidewheel.flush()
        self.print0(f"stop requested: saved step {step} and leaving")

    def report(self, step: int, **metrics: float) -> None:
        self.metrics |= {name: round(value, 6) for name, value in metrics.items()}
        if self.is_main:
            tidewheel.progress(step, self.total, **self.metrics)

    def finish(self, learned: Arrays, probabilities: npt.NDArray[np.float64]) -> None:
        """Writes the model and its metrics on the held-out shard."""
        labels, _, _ = self.evaluation_data()
        self.report(self.total, auc=area_under_curve(labels, probabilities))
        folder = Path(os.environ["SM_MODEL_DIR"])
        weights = {name: value for name, value in learned.items() if "/" not in name}
        (folder / "model.npz").write_bytes(arrays_to_bytes(weights))
        metrics = {**self.metrics, "step": self.total, "totalSteps": self.total}
        (folder / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n")
        tidewheel.flush()
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


def _write_state(folder: Path, learned: Arrays) -> None:
    (folder / _STATE).write_bytes(arrays_to_bytes(learned))


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
