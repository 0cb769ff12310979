"""Which checkpoint of Tidewheel's own layout is the newest complete one.

A checkpoint is a folder `step-00000120`. Its marker `COMPLETE.json` is written last and lists the
files with their sizes. S3 copies files in no order, so a folder counts only when every listed file
is there with all its bytes.
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tidewheel_contract.documents import CompletionMarker

from ..files import read_document
from .formats.step_names import Unit

_STEP_FOLDER = re.compile(r"step-(\d{1,12})")


@dataclass(frozen=True)
class Checkpoint:
    """A complete checkpoint, as its marker or its framework describes it."""

    step: int
    name: str
    """Path relative to the checkpoint folder."""
    total_steps: int | None
    training_seconds: float | None
    metrics: dict[str, float] = field(default_factory=dict)
    size_bytes: int = 0
    saved_at: float = 0.0
    """Unix seconds at which the file that completes it was written."""
    taken_at: float | None = None
    """Unix seconds at which the training had this state, where the marker tells."""
    unit: Unit = "step"
    family: str = ""
    """Who wrote it, in words; empty for Tidewheel's own layout."""
    is_weak: bool = False
    """That it is whole follows only from its files being quiet."""
    files: dict[str, int] = field(default_factory=dict)
    """Bytes of each file, by its path relative to the checkpoint folder."""

    @property
    def position(self) -> str:
        """In words. A number of saves says nothing of steps."""
        is_counted = self.unit == "saves"
        return f"{self.name}, save {self.step}," if is_counted else f"{self.unit} {self.step}"

    def holds_state_after(self, at: float) -> bool:
        """Whether the training was so far at `at`, in Unix seconds, or later."""
        return (self.saved_at if self.taken_at is None else self.taken_at) > at


def find_last_checkpoint(folder: Path) -> Checkpoint | None:
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
        checkpoint = _read_checkpoint(step, entry)
        if checkpoint is not None:
            return checkpoint
    return None


def _read_checkpoint(step: int, folder: Path) -> Checkpoint | None:
    """None while it is half written or half copied: an older one may count."""
    marker_path = folder / CompletionMarker.FILE
    marker = read_document(CompletionMarker, marker_path)
    if marker is None:
        return None
    # Other hosts of a gang have their parts, which come together in the bucket.
    elsewhere = marker.elsewhere or []
    try:
        for name, file in marker.files.items():
            path = folder / name
            is_here = name not in elsewhere or path.exists()
            if is_here and path.stat().st_size != file.bytes:
                return None
        saved_at = marker_path.stat().st_mtime
    except (OSError, ValueError):
        return None
    files = {f"{folder.name}/{name}": file.bytes for name, file in marker.files.items()}
    return Checkpoint(
        step=step,
        name=folder.name,
        total_steps=marker.total_steps,
        training_seconds=marker.training_seconds,
        metrics=finite_numbers(marker.metrics),
        size_bytes=sum(files.values()),
        files=files,
        saved_at=saved_at,
        taken_at=marker.taken_at,
    )


def finite_numbers(value: object) -> dict[str, float]:
    """The finite numbers among the members of a JSON object; empty for anything else."""
    if not isinstance(value, dict):
        return {}
    return {
        str(key): float(number)
        for key, number in value.items()
        if isinstance(number, (int, float))
        and not isinstance(number, bool)
        and abs(number) <= sys.float_info.max
    }
