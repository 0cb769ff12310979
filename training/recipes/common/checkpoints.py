"""Saves and loads checkpoints that count only when they are complete.

`step-00000120/state.bin` is written first and the marker `COMPLETE.json` last, each under a
temporary name, synced to disk and renamed. The marker holds size and hash, so a copy that lost
bytes on its way through S3 does not count, and the one before it does. The recipe decides what the
bytes mean.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

MARKER = "COMPLETE.json"
_STATE = "state.bin"
_FOLDER = re.compile(r"step-(\d{8,})")


@dataclass(frozen=True)
class CheckpointInfo:
    """What the marker says about the checkpoint."""

    step: int
    total_steps: int
    training_seconds: float
    metrics: dict[str, float]


def save_checkpoint(folder: Path, info: CheckpointInfo, state: bytes, *, keep: int) -> Path:
    """Writes one checkpoint, then removes all but the newest `keep`; returns its folder."""
    target = folder / f"step-{info.step:08d}"
    target.mkdir(parents=True, exist_ok=True)
    (target / MARKER).unlink(missing_ok=True)
    _write(target / _STATE, state)
    marker = {
        "step": info.step,
        "totalSteps": info.total_steps,
        "trainingSeconds": round(info.training_seconds, 3),
        "metrics": info.metrics,
        "files": {_STATE: {"bytes": len(state), "sha256": hashlib.sha256(state).hexdigest()}},
    }
    _write(target / MARKER, (json.dumps(marker, sort_keys=True) + "\n").encode())
    _remove_old(folder, keep)
    return target


def load_checkpoint(folder: Path) -> tuple[CheckpointInfo, bytes] | None:
    """The newest checkpoint whose bytes match its marker, or None."""
    for target in sorted(_find_checkpoints(folder), reverse=True):
        try:
            marker = json.loads((target / MARKER).read_text(encoding="utf-8"))
            state = (target / _STATE).read_bytes()
            if hashlib.sha256(state).hexdigest() != marker["files"][_STATE]["sha256"]:
                raise ValueError("its hash differs from the marker's")
            info = CheckpointInfo(
                step=marker["step"],
                total_steps=marker["totalSteps"],
                training_seconds=marker["trainingSeconds"],
                metrics=marker["metrics"],
            )
            return info, state
        except (OSError, ValueError, KeyError, TypeError) as error:
            print(f"skipping checkpoint {target.name}: {error}", flush=True)
    return None


def _find_checkpoints(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [entry for entry in folder.iterdir() if _FOLDER.fullmatch(entry.name)]


def _remove_old(folder: Path, keep: int) -> None:
    complete = sorted(target for target in _find_checkpoints(folder) if (target / MARKER).exists())
    for target in complete[:-keep]:
        # The marker goes first, because half a folder must not look like a checkpoint.
        (target / MARKER).unlink(missing_ok=True)
        shutil.rmtree(target, ignore_errors=True)


def _write(path: Path, content: bytes) -> None:
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
