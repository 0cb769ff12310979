"""Checkpoints on disk: `step-00000120/` with the script's files and, last of all, COMPLETE.json.

The marker lists each file with its size and SHA-256. A checkpoint whose bytes differ from its
marker does not count; the one before it does. docs/training.md describes the format.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tidewheel_contract.documents import CompletionMarker, CompletionMarkerFile
from tidewheel_contract.keep_last import superseded
from tidewheel_contract.reading import parse, text_of

MARKER = CompletionMarker.FILE
_FOLDER = re.compile(r"step-(\d{8,12})")
_BLOCK_BYTES = 1 << 22


@dataclass(frozen=True)
class Checkpoint:
    """A whole checkpoint."""

    step: int
    folder: Path
    total: int | None = None
    """Steps of the whole training, where the script gave them."""
    training_seconds: float = 0.0
    """Seconds of training over all attempts."""
    metrics: dict[str, float] = field(default_factory=dict)


def folder_of_step(root: Path, step: int) -> Path:
    return root / f"step-{step:08d}"


def begin(folder: Path) -> None:
    """An empty folder for the checkpoint. One that was there stops counting first."""
    (folder / MARKER).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)


def complete(checkpoint: Checkpoint) -> int:
    """Syncs the files of the folder to disk, hashes them, and writes the marker; returns bytes."""
    folder = checkpoint.folder
    hashed = {str(path.relative_to(folder)): _sync_and_hash(path) for path in _files_in(folder)}
    if not hashed:
        raise FileNotFoundError(f"write() left no file in {folder}")
    marker = CompletionMarker(
        step=checkpoint.step,
        total_steps=checkpoint.total,
        training_seconds=round(checkpoint.training_seconds, 3),
        metrics=dict(checkpoint.metrics),
        files={
            name: CompletionMarkerFile(bytes=size, sha256=sha256)
            for name, (size, sha256) in hashed.items()
        },
    )
    write_synced(folder / MARKER, text_of(marker).encode())
    _sync_directory(folder.parent)
    return sum(size for size, _ in hashed.values())


def write_synced(path: Path, data: bytes | memoryview) -> None:
    """The whole file is there or none of it, even after the host crashes."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    _sync_directory(path.parent)


def find_newest(root: Path) -> Checkpoint | None:
    """The checkpoint with the highest step whose bytes are those of its marker, or None."""
    for step, folder in sorted(find_folders(root), reverse=True):
        if not (folder / MARKER).exists():
            continue
        try:
            return _read(step, folder)
        except (OSError, ValueError) as error:
            print(f"tidewheel: checkpoint {folder.name} is damaged: {error}", file=sys.stderr)
    return None


def remove_old(root: Path, newest: int, keep: int) -> None:
    """Keeps the newest `keep` whole checkpoints up to step `newest`.

    Removes what a kill in the middle of a save has left, too.
    """
    older = sorted(item for item in find_folders(root) if item[0] <= newest)
    for _, folder in superseded(older, keep, lambda item: (item[1] / MARKER).exists()):
        # The marker goes first, because half a folder must not look like a checkpoint.
        (folder / MARKER).unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)


def _read(step: int, folder: Path) -> Checkpoint:
    marker = parse(CompletionMarker, (folder / MARKER).read_text(encoding="utf-8"))
    for name, expected in marker.files.items():
        digest = sha256_of(folder / name)
        if digest != expected.sha256:
            raise ValueError(f"{name} has the hash {digest}, its marker {expected.sha256}")
    numbers = {n: v for n, v in (marker.metrics or {}).items() if isinstance(v, (int, float))}
    seconds = marker.training_seconds or 0.0
    return Checkpoint(step, folder, marker.total_steps, seconds, numbers)


def find_folders(root: Path) -> list[tuple[int, Path]]:
    """Each with its step, whole or not."""
    if not root.is_dir():
        return []
    matches = ((_FOLDER.fullmatch(entry.name), entry) for entry in root.iterdir())
    return [(int(match[1]), entry) for match, entry in matches if match]


def _files_in(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _sync_and_hash(path: Path) -> tuple[int, str]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return path.stat().st_size, sha256_of(path)


def sha256_of(path: Path) -> str:
    """Reads by blocks into one buffer: other threads run while a block is read or hashed."""
    digest, buffer = hashlib.sha256(), bytearray(_BLOCK_BYTES)
    view = memoryview(buffer)
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(buffer):
            digest.update(view[:count])
    return digest.hexdigest()


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
