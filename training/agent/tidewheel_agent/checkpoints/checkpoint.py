"""Which checkpoint is the newest that is complete.

A checkpoint of our own layout is a folder `step-00000120` whose marker `COMPLETE.json` was written
last and lists the files with their sizes: a folder copied half way (S3 keeps no order) does not
count, whatever it contains.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

MARKER = "COMPLETE.json"
_STEP_FOLDER = re.compile(r"step-(\d{1,12})")


@dataclass(frozen=True)
class Checkpoint:
    """A complete checkpoint, and what it says of itself."""

    step: int
    name: str
    """Relative to the checkpoint folder."""
    total_steps: int | None
    training_seconds: float | None
    metrics: dict[str, float] = field(default_factory=dict)
    size_bytes: int = 0
    saved_at: float = 0.0
    """Unix seconds of the marker."""


def newest_complete(folder: Path) -> Checkpoint | None:
    """The complete checkpoint with the highest step, or None."""
    found: list[tuple[int, Path]] = []
    try:
        for entry in folder.iterdir():
            match = _STEP_FOLDER.fullmatch(entry.name)
            if match:
                found.append((int(match[1]), entry))
    except OSError:
        return None
    for step, entry in sorted(found, reverse=True):
        checkpoint = _read(step, entry)
        if checkpoint is not None:
            return checkpoint
    return None


def _read(step: int, entry: Path) -> Checkpoint | None:
    try:
        marker = entry / MARKER
        said = json.loads(marker.read_text(encoding="utf-8"))
        files = said["files"]
        size = 0
        for name, expected in files.items():
            actual = (entry / name).stat().st_size
            if actual != expected["bytes"]:
                return None
            size += actual
        total = said.get("totalSteps")
        seconds = said.get("trainingSeconds")
        return Checkpoint(
            step=step,
            name=entry.name,
            total_steps=total if isinstance(total, int) else None,
            training_seconds=float(seconds) if isinstance(seconds, (int, float)) else None,
            metrics=numbers(said.get("metrics")),
            size_bytes=size,
            saved_at=marker.stat().st_mtime,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # Half written, half copied or not ours: the one before it counts.
        return None


def numbers(value: object) -> dict[str, float]:
    """The finite numbers of a JSON object."""
    if not isinstance(value, dict):
        return {}
    return {
        str(key): float(number)
        for key, number in value.items()
        if isinstance(number, (int, float))
        and not isinstance(number, bool)
        and abs(number) < float("inf")
    }
