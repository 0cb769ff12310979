"""What a training script may say to Tidewheel, and ask of it. The agent puts this on PYTHONPATH.

import tidewheel
for batch in tidewheel.batches(loader):
    tidewheel.progress(step, total, loss=loss, accuracy=accuracy)
    if tidewheel.stop_soon():
        with tidewheel.saving():
            save()
        return
"""

from __future__ import annotations

import json
import mmap
import os
import signal
import struct
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

__all__ = [
    "batches",
    "checkpoint_dir",
    "checkpoint_seconds",
    "progress",
    "save_soon",
    "saving",
    "speaks",
    "stop_deadline",
    "stop_soon",
]

T = TypeVar("T")
_answered = 0
"""When the last request to save was made, by the file's own time."""
_stopped = False
_listening = False


def progress(step: int, total: int, **metrics: float) -> None:
    """Prints one line that the agent and SageMaker's metric definitions read; in rank 0 and in the
    process that `speaks`, silent in all others."""
    if (_rank() or "0") != "0" and not speaks():
        return
    pairs = "".join(f" {name}={float(value):.6g}" for name, value in metrics.items())
    print(f"tidewheel step={int(step)} total={int(total)}{pairs}", flush=True)


def batches(loader: Iterable[T]) -> Iterator[T]:
    """Hands on what the loader yields, and tells the agent how long each was waited for.

    What passes between two batches counts as computing. On a GPU that is what the host sees of it:
    a step that only queues work seems short until something waits for its result.
    """
    meter = _meter()
    source = iter(loader)
    while True:
        asked = time.monotonic()
        try:
            batch = next(source)
        except StopIteration:
            return
        got = time.monotonic()
        yield batch
        meter.add(got - asked, time.monotonic() - got)


def speaks() -> bool:
    """True in the one process that saves, and writes the model, for all: the first on the host
    whose agent reports. That is rank 0, except that Ray may give rank 0 to any host that trains.
    """
    leads = os.environ.get("TIDEWHEEL_LEADS")
    if leads is None:  # Not under the agent.
        return (_rank() or "0") == "0"
    local = os.environ.get("TIDEWHEEL_LOCAL_RANK") or os.environ.get("LOCAL_RANK")
    return leads == "1" and (local or _rank() or "0") == "0"


def _rank() -> str | None:
    """Among all processes of the training; None where nobody counts them."""
    return os.environ.get("TIDEWHEEL_RANK") or os.environ.get("RANK")


@contextmanager
def saving() -> Iterator[None]:
    """Around a save: tells how long training stands still for it, from which the service computes
    how often to save. Silent where `progress` is; without it the agent reads it off the files."""
    began = time.monotonic()
    yield
    if (_rank() or "0") == "0" or speaks():
        print(f"tidewheel save_seconds={time.monotonic() - began:.6g}", flush=True)


def stop_soon() -> bool:
    """True once this host has been told to leave: save and return before `stop_deadline()`.

    The first call also starts to listen for SIGTERM, unless the script has a handler of its own.
    In a gang, act on it together: all-reduce the answer, or ranks leave at different steps.
    """
    _listen()
    path = os.environ.get("TIDEWHEEL_STOP_FILE", "")
    return _stopped or (path != "" and os.path.exists(path))


def save_soon() -> bool:
    """True once when somebody asks for a checkpoint: save and train on. EC2 says so of a host that
    it may take back; nothing is lost by not looking, but the steps since the last save.

    Rank 0 is asked, and the process that `speaks`, on whatever hosts they are; in a gang act on it
    together, as on the time that passed.
    """
    global _answered
    is_asked = _rank() == "0" or speaks()
    try:
        asked = os.stat(os.environ["TIDEWHEEL_SAVE_FILE"]).st_mtime_ns if is_asked else 0
    except (OSError, KeyError):
        return False
    if asked <= _answered:
        return False
    _answered = asked
    return True


def stop_deadline() -> float | None:
    """Unix seconds by which the script must have left; None while there is no hurry."""
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


def _listen() -> None:
    global _listening
    if _listening or threading.current_thread() is not threading.main_thread():
        return
    _listening = True
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _remember)


def _remember(number: int, frame: FrameType | None) -> None:
    global _stopped
    _stopped = True


class _Meter:
    """Two growing numbers in a file of this process's own, which the agent reads every second."""

    def __init__(self, folder: str) -> None:
        self._sums = [0.0, 0.0]
        self._shared: mmap.mmap | None = None
        try:
            with open(os.path.join(folder, str(os.getpid())), "w+b") as file:
                file.write(struct.pack("=dd", 0.0, 0.0))
                file.flush()
                self._shared = mmap.mmap(file.fileno(), 0)
        except (OSError, ValueError):
            # Not under the agent, or no room: training goes on unmeasured.
            self._shared = None

    def add(self, waited: float, computed: float) -> None:
        self._sums[0] += waited
        self._sums[1] += computed
        if self._shared is not None:
            struct.pack_into("=dd", self._shared, 0, *self._sums)


_meters: dict[int, _Meter] = {}


def _meter() -> _Meter:
    """One for each process: a fork must not write into its parent's."""
    pid = os.getpid()
    if pid not in _meters:
        _meters[pid] = _Meter(os.environ.get("TIDEWHEEL_WAITS_DIR", "/nonexistent"))
    return _meters[pid]
