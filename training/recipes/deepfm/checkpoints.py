"""Checkpoints of named arrays that are whole or do not count.

`step-00000120/arrays.npz` is written first and `COMPLETE.json` last, each to a temporary name,
synced to disk and renamed. The marker holds size and hash: a copy that lost its tail is passed over
for the one before it. No framework is in it: another number of hosts, or another partition of the
embeddings, reads it just as well.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

MARKER = "COMPLETE.json"
_ARRAYS = "arrays.npz"
_FOLDER = re.compile(r"step-(\d{8,})")
Arrays = dict[str, npt.NDArray[np.float32]]


@dataclass(frozen=True)
class Saved:
    """What a checkpoint says of itself (the marker)."""

    step: int
    total_steps: int
    training_seconds: float
    metrics: dict[str, float]


def save(
    folder: Path, saved: Saved, arrays: Mapping[str, npt.NDArray[np.float32]], keep: int
) -> None:
    """Writes one checkpoint and then drops the oldest."""
    target = folder / f"step-{saved.step:08d}"
    target.mkdir(parents=True, exist_ok=True)
    (target / MARKER).unlink(missing_ok=True)
    content = to_bytes(arrays)
    _write(target / _ARRAYS, content)
    marker = {
        "step": saved.step,
        "totalSteps": saved.total_steps,
        "trainingSeconds": round(saved.training_seconds, 3),
        "metrics": saved.metrics,
        "files": {_ARRAYS: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}},
    }
    _write(target / MARKER, (json.dumps(marker, sort_keys=True) + "\n").encode())
    complete = sorted(one for one in _folders(folder) if (one / MARKER).exists())
    for old in complete[:-keep]:
        # The marker goes first: half a folder must not look like a checkpoint.
        (old / MARKER).unlink(missing_ok=True)
        shutil.rmtree(old, ignore_errors=True)


def load_newest(folder: Path) -> tuple[Saved, Arrays] | None:
    """The newest checkpoint whose bytes are what its marker says, or None."""
    for target in sorted(_folders(folder), reverse=True):
        try:
            marker = json.loads((target / MARKER).read_text(encoding="utf-8"))
            content = (target / _ARRAYS).read_bytes()
            if hashlib.sha256(content).hexdigest() != marker["files"][_ARRAYS]["sha256"]:
                raise ValueError("its hash is not the marker's")
            saved = Saved(
                step=marker["step"],
                total_steps=marker["totalSteps"],
                training_seconds=marker["trainingSeconds"],
                metrics=marker["metrics"],
            )
            # Plain arrays only: a checkpoint cannot run code.
            with np.load(io.BytesIO(content), allow_pickle=False) as archive:
                return saved, {name: archive[name] for name in archive.files}
        except (OSError, ValueError, KeyError, TypeError) as error:
            print(f"checkpoint {target.name} is passed over: {error}", flush=True)
    return None


def to_bytes(arrays: Mapping[str, npt.NDArray[np.float32]]) -> bytes:
    """The same arrays give the same bytes."""
    buffer = io.BytesIO()
    named: dict[str, Any] = dict(sorted(arrays.items()))
    np.savez(buffer, **named)
    return buffer.getvalue()


def _folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [entry for entry in folder.iterdir() if _FOLDER.fullmatch(entry.name)]


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
