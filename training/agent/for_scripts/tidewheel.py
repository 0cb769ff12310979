"""What a training script may say to Tidewheel, and ask of it. The agent puts this on PYTHONPATH.

import tidewheel
tidewheel.progress(step, total, loss=loss, accuracy=accuracy)
if tidewheel.stop_soon():
    save()
    return
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from types import FrameType

__all__ = ["checkpoint_dir", "checkpoint_seconds", "progress", "stop_deadline", "stop_soon"]

_stopped = False
_listening = False


def progress(step: int, total: int, **metrics: float) -> None:
    """Prints one line that the agent and SageMaker's metric definitions read; rank 0 only."""
    if os.environ.get("RANK", "0") != "0":
        return
    pairs = "".join(f" {name}={float(value):.6g}" for name, value in metrics.items())
    print(f"tidewheel step={int(step)} total={int(total)}{pairs}", flush=True)


def stop_soon() -> bool:
    """True once this host has been told to leave: save and return before `stop_deadline()`.

    The first call also starts to listen for SIGTERM, unless the script has a handler of its own.
    In a gang, act on it together: all-reduce the answer, or ranks leave at different steps.
    """
    _listen()
    path = os.environ.get("TIDEWHEEL_STOP_FILE", "")
    return _stopped or (path != "" and os.path.exists(path))


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
