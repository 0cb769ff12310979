"""The calls a training script may make. The agent puts this module on PYTHONPATH.

import tidewheel
newest = tidewheel.newest()
for batch in tidewheel.batches(loader):
    tidewheel.progress(step, total, loss=loss, accuracy=accuracy)
    tidewheel.stepped(len(batch))  # only where neither PyTorch's optimizers nor Keras step
    if tidewheel.save_due():
        tidewheel.save(step, write, state)
    if tidewheel.stop_soon():
        return
for key, is_right in evaluated:
    tidewheel.score(key, accuracy=is_right)
"""

from __future__ import annotations

import json
import math
import mmap
import os
import signal
import struct
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TypeVar

from tidewheel_contract.documents import SCORES_FILE

from ._background_saves import BackgroundSaves, SaveFailedError, Write
from ._checkpoint_folder import Checkpoint, find_newest, folder_of_step

__all__ = [
    "Checkpoint",
    "SaveFailedError",
    "batches",
    "checkpoint_dir",
    "checkpoint_seconds",
    "flush",
    "is_main_process",
    "newest",
    "progress",
    "save",
    "save_due",
    "save_soon",
    "saving",
    "score",
    "stepped",
    "stop_deadline",
    "stop_soon",
]

T = TypeVar("T")
_handled_request = 0
"""Modification time of the last save request that `save_soon` has returned True for."""
_stopped = False
_has_handler = False


def progress(step: int, total: int, **metrics: float) -> None:
    """Prints one line, which the agent and SageMaker's metric definitions read.

    Rank 0 and the main process print it; the others are silent.
    """
    if not _may_print():
        return
    pairs = "".join(f" {name}={float(value):.6g}" for name, value in metrics.items())
    print(f"tidewheel step={int(step)} total={int(total)}{pairs}", flush=True)


def score(key: str, *, label: str | None = None, **metrics: float) -> None:
    """Notes how well the model does on one sample, once for each sample when training has ended.

    `key` names the sample; the next model is compared with this one on the same keys. The metric of
    `training.objective` decides; `label`, such as the sample's class, tells where they differ.
    Raises ValueError for NaN, infinity, and a call without a metric.

    Only the main process writes; for the others, and where nothing is kept, it does nothing.
    """
    folder = checkpoint_dir()
    values = {name: float(value) for name, value in metrics.items()}
    if not key or not values:
        raise ValueError("score needs the sample's key and a metric, such as accuracy=1.0")
    for name, value in values.items():
        if not math.isfinite(value):
            raise ValueError(f"{name} of {key} is {value}: a score is a finite number")
    given = os.environ.get("TIDEWHEEL_SCORES_FILE")
    if (folder is None and given is None) or not is_main_process():
        return
    line = {"key": key, **({} if label is None else {"label": label}), **values}
    attempt = os.environ.get("TIDEWHEEL_ATTEMPT", "1")
    path = Path(given or Path(folder or "", SCORES_FILE.format(attempt=attempt)))
    path.parent.mkdir(exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def stepped(samples: float, steps: int = 1) -> None:
    """Counts steps in a loop that no hook of the agent knows: without an optimizer of PyTorch, and
    without Keras.

    `samples`: from which this process has learned in them. The agent's hooks do the counting, so a
    script that runs without them goes on.
    """


def batches(loader: Iterable[T]) -> Iterator[T]:
    """Yields the loader's batches and measures for the agent how long the script waits for each.

    The time between two batches counts as computing. On a GPU it is the host's view: a step that
    only queues work seems short until something waits for its result.
    """
    meter = _meter()
    source = iter(loader)
    while True:
        requested = time.monotonic()
        try:
            batch = next(source)
        except StopIteration:
            return
        received = time.monotonic()
        yield batch
        meter.add(received - requested, time.monotonic() - received)


def is_main_process() -> bool:
    """True in the one process that saves and writes the model for all.

    It is the first process on the leader's host. That is rank 0, except that Ray may give rank 0
    to any host that trains.
    """
    leads = os.environ.get("TIDEWHEEL_LEADS")
    if leads is None:  # The script runs without the agent.
        return (_rank() or "0") == "0"
    local = os.environ.get("TIDEWHEEL_LOCAL_RANK") or os.environ.get("LOCAL_RANK")
    return leads == "1" and (local or _rank() or "0") == "0"


def _rank() -> str | None:
    """Among all processes of the training; None where no launcher has numbered them."""
    return os.environ.get("TIDEWHEEL_RANK") or os.environ.get("RANK")


def save(
    step: int,
    write: Write,
    state: object = None,
    *,
    total: int | None = None,
    metrics: dict[str, float] | None = None,
    keep: int = 2,
) -> None:
    """Saves a checkpoint beside training, and removes all but the newest `keep`.

    `write(folder, copy)` gets a copy of `state`, and runs in another thread while training goes on:
    `lambda folder, copy: torch.save(copy, folder / "state.pt")`. `state` may be dicts, lists and
    tuples of tensors, arrays and plain values; up to two copies of it are in memory. Without
    `state`, `write(folder)` runs at once. Files are then synced, hashed and marked in the other
    thread. Where writing is slower than saving, the newest state replaces the one that waits.

    Only the main process saves; for the others, without a checkpoint folder, and for a step that is
    saved already, it does nothing. The end of the script waits until all is written. Raises
    SaveFailedError when the save before could not be written.
    """
    global _saved_step
    folder = checkpoint_dir()
    if folder is None or not is_main_process() or step == _saved_step:
        return
    if keep < 1:
        raise ValueError(f"keep is {keep}: keep at least one checkpoint")
    root = Path(folder)
    seconds = _earlier_seconds + time.monotonic() - _began
    checkpoint = Checkpoint(step, folder_of_step(root, step), total, seconds, metrics or {})
    stall = _saves(root).save(checkpoint, write, state, keep)
    _saved_step = step
    print(f"tidewheel save_seconds={stall:.6g}", flush=True)


def newest() -> Checkpoint | None:
    """The newest checkpoint of `save` whose bytes are whole, or None: load from its `folder`.

    Waits for the saves of this process. A damaged checkpoint is named on stderr and passed over.
    """
    global _earlier_seconds, _saved_step
    folder = checkpoint_dir()
    if folder is None:
        return None
    flush()
    found = find_newest(Path(folder))
    if found is not None:
        _earlier_seconds, _saved_step = found.training_seconds, found.step
    return found


def save_due() -> bool:
    """True when it is time to save: the interval is over, EC2 has warned, or the script must leave.

    The interval is the service's (`checkpoint_seconds`), or a shorter one where `save` costs less
    than 1 % of the time even so. Only the main process gets True, because only it saves.
    """
    folder = checkpoint_dir()
    if folder is None or not is_main_process():
        return False
    at_most = checkpoint_seconds() or float("inf")
    return stop_soon() or save_soon() or _saves(Path(folder)).seconds_until_due(at_most) <= 0


def flush() -> None:
    """Waits until every save is on disk. Raises SaveFailedError when one could not be written."""
    for (process, _), saves in _background.items():
        if process == os.getpid():
            saves.flush()


_background: dict[tuple[int, Path], BackgroundSaves] = {}
_began = time.monotonic()
_earlier_seconds = 0.0
_saved_step: int | None = None


def _saves(root: Path) -> BackgroundSaves:
    """The saves of this process: the thread that writes does not live on in a fork."""
    key = (os.getpid(), root)
    if key not in _background:
        _background.clear()
        _background[key] = BackgroundSaves(root)
    return _background[key]


@contextmanager
def saving() -> Iterator[None]:
    """Measures how long a save holds up training; the service computes from it how often to save.

    Without it the agent derives the duration from the files' timestamps.
    """
    began = time.monotonic()
    yield
    if _may_print():
        print(f"tidewheel save_seconds={time.monotonic() - began:.6g}", flush=True)


def stop_soon() -> bool:
    """True once the script must leave: save and return before `stop_deadline()`.

    The first call also installs a handler for SIGTERM, unless the script has one. With several
    ranks, all-reduce the answer: all must leave at the same step.
    """
    _install_handler()
    path = os.environ.get("TIDEWHEEL_STOP_FILE", "")
    return _stopped or (path != "" and os.path.exists(path))


def save_soon() -> bool:
    """True once for each request to save and train on, made when EC2 may reclaim a host.

    A script that never calls it risks the steps since its last save. Only rank 0 and the main
    process get requests; with several ranks, share the answer as that of any other reason to save.
    """
    global _handled_request
    gets_requests = _rank() == "0" or is_main_process()
    try:
        path = os.environ["TIDEWHEEL_SAVE_FILE"]
        requested = os.stat(path).st_mtime_ns if gets_requests else 0
    except (OSError, KeyError):
        return False
    if requested <= _handled_request:
        return False
    _handled_request = requested
    return True


def stop_deadline() -> float | None:
    """Unix seconds at which everything is killed; None while the script need not leave."""
    try:
        with open(os.environ["TIDEWHEEL_STOP_FILE"], encoding="utf-8") as file:
            return float(json.load(file)["deadlineUnixSeconds"])
    except (OSError, KeyError, ValueError, TypeError):
        return time.time() + 100 if _stopped else None


def checkpoint_dir() -> str | None:
    """The folder that outlives the host; None when the job has none."""
    return os.environ.get("TIDEWHEEL_CHECKPOINT_DIR") or None


def checkpoint_seconds() -> float | None:
    """The interval between checkpoints that the service computed for this capacity, if it did."""
    text = os.environ.get("TIDEWHEEL_CHECKPOINT_SECONDS", "")
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _may_print() -> bool:
    return (_rank() or "0") == "0" or is_main_process()


def _install_handler() -> None:
    global _has_handler
    if _has_handler or threading.current_thread() is not threading.main_thread():
        return
    _has_handler = True
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _on_sigterm)


def _on_sigterm(number: int, _frame: FrameType | None) -> None:
    global _stopped
    _stopped = True


class _Meter:
    """Two sums in a file of this process, which the agent reads every second."""

    def __init__(self, folder: str) -> None:
        self._sums = [0.0, 0.0]
        self._shared: memoryview[float] | None = None
        try:
            with open(os.path.join(folder, str(os.getpid())), "w+b") as file:
                file.write(struct.pack("=dd", 0.0, 0.0))
                file.flush()
                self._shared = memoryview(mmap.mmap(file.fileno(), 0)).cast("d")
        except (OSError, ValueError):
            # Without the agent, or without space on disk, training goes on unmeasured.
            self._shared = None

    def add(self, waited: float, computed: float) -> None:
        self._sums[0] += waited
        self._sums[1] += computed
        if self._shared is not None:
            # One store for each: `struct.pack_into` first writes zeros, which the agent may read.
            self._shared[0], self._shared[1] = self._sums


_meters: dict[int, _Meter] = {}


def _meter() -> _Meter:
    """The meter of this process: a fork must not write into its parent's file."""
    pid = os.getpid()
    if pid not in _meters:
        _meters[pid] = _Meter(os.environ.get("TIDEWHEEL_DATA_WAIT_DIR", "/nonexistent"))
    return _meters[pid]
