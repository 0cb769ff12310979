"""Checkpoints that are whole or do not count.

`step-00000120/state.bin` is written first, `COMPLETE.json` last, each to a temporary name, synced
to disk and renamed. The marker holds size and hash: a copy that lost its tail on the way through S3
is passed over for the one before it. What the bytes mean is the recipe's affair.
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
class Saved:
    """What a checkpoint says of itself (the marker)."""

    step: int
    total_steps: int
    training_seconds: float
    metrics: dict[str, float]


def save(folder: Path, saved: Saved, content: bytes, *, keep: int) -> Path:
    """Writes one checkpoint and then drops all but the newest `keep`; returns its folder."""
    target = folder / f"step-{saved.step:08d}"
    target.mkdir(parents=True, exist_ok=True)
    (target / MARKER).unlink(missing_ok=True)
    _write(target / _STATE, content)
    marker = {
        "step": saved.step,
        "totalSteps": saved.total_steps,
        "trainingSeconds": round(saved.training_seconds, 3),
        "metrics": saved.metrics,
        "files": {_STATE: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}},
    }
    _write(target / MARKER, (json.dumps(marker, sort_keys=True) + "\n").encode())
    _drop_old(folder, keep)
    return target


def load_newest(folder: Path) -> tuple[Saved, bytes] | None:
    """The newest checkpoint whose bytes are what its marker says, or None."""
    for target in sorted(_folders(folder), reverse=True):
        try:
            marker = json.loads((target / MARKER).read_text(encoding="utf-8"))
            content = (target / _STATE).read_bytes()
            if hashlib.sha256(content).hexdigest() != marker["files"][_STATE]["sha256"]:
                raise ValueError("its hash is not the marker's")
            saved = Saved(
                step=marker["step"],
                total_steps=marker["totalSteps"],
                training_seconds=marker["trainingSeconds"],
                metrics=marker["metrics"],
            )
            return saved, content
        except (OSError, ValueError, KeyError, TypeError) as error:
            print(f"checkpoint {target.name} is passed over: {error}", flush=True)
    return None


def _folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [entry for entry in folder.iterdir() if _FOLDER.fullmatch(entry.name)]


def _drop_old(folder: Path, keep: int) -> None:
    complete = sorted(target for target in _folders(folder) if (target / MARKER).exists())
    for target in complete[:-keep]:
        # The marker goes first: half a folder must not look like a checkpoint.
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
