"""Checkpoints on disk: `step-00000120/` with a marker that is written last.

The layout is that of Tidewheel's recipes, so the agent recognises it. Each rank writes one file,
and the first rank writes the marker, with all checksums, when all are there.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

MARKER = "COMPLETE.json"
_FOLDER = re.compile(r"step-(\d{8,12})")
_KEPT = 2
_RENAMED = {"phantoms": "fake_tensors", "noted.packed": "recorded.packed"}
"""Modules whose classes are in checkpoints of 0.1.0, by their names there."""


def whole_steps(root: Path, rank: int, first: int, count: int) -> list[int]:
    """Steps with files of `count` ranks of which this rank can restore its part, the newest first.

    It needs its own file and that of the rank `first`; each has to match its checksum.
    """
    needed = {f"rank-{rank}.pt", f"rank-{first}.pt"}
    steps = []
    for folder in _folders(root):
        try:
            marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
            files = marker["files"]
            if marker["writer"] != "automatic" or len(files) != count:
                continue
            if all(_sha256(folder / name) == files[name]["sha256"] for name in needed):
                steps.append(_step_of(folder))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return steps


def folder_of(root: Path, step: int) -> Path:
    return root / f"step-{step:08d}"


def load(folder: Path, rank: int) -> dict[str, Any]:
    import torch

    for old, new in _RENAMED.items():
        sys.modules.setdefault(f"{__package__}.{old}", import_module(f".{new}", __package__))
    # The agent's own file of this run, checked by its checksum.
    state = torch.load(folder / f"rank-{rank}.pt", map_location="cpu", weights_only=False)
    assert isinstance(state, dict)
    return state


def save(root: Path, step: int, rank: int, state: dict[str, Any]) -> dict[str, Any]:
    """Writes this rank's file; returns its size and checksum."""
    import torch

    folder = folder_of(root, step)
    folder.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    torch.save(state, buffer)
    data = buffer.getbuffer()
    write(folder / f"rank-{rank}.pt", data)
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def complete(
    root: Path, step: int, files: dict[str, Any], taken_at: float | None = None
) -> list[int]:
    """Writes the marker and removes what it supersedes; returns the steps that stay.

    `taken_at`: Unix seconds at which the training had this state.
    """
    folder = folder_of(root, step)
    here = {path.name for path in folder.iterdir()}
    marker: dict[str, Any] = {"writer": "automatic", "step": step, "files": files}
    if taken_at is not None:
        marker["takenAt"] = taken_at
    # Files of other hosts come together in the bucket.
    if elsewhere := sorted(set(files) - here):
        marker["elsewhere"] = elsewhere
    write(folder / MARKER, json.dumps(marker, sort_keys=True).encode())
    marked = [_step_of(each) for each in _folders(root) if (each / MARKER).exists()]
    kept = marked[:_KEPT]
    for old in _folders(root):
        if _step_of(old) < step and _step_of(old) not in kept:
            shutil.rmtree(old, ignore_errors=True)
    return kept


def remove_superseded(root: Path, rank: int, step: int, kept: list[int]) -> None:
    """On a host without the first rank: this rank's files that no kept checkpoint needs."""
    for old in _folders(root):
        if _step_of(old) < min(step, max(kept)) and _step_of(old) not in kept:
            (old / f"rank-{rank}.pt").unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                old.rmdir()


def remove_all(root: Path) -> None:
    """Removes the checkpoints of the hooks: no process can restore them."""
    for folder in _folders(root):
        shutil.rmtree(folder, ignore_errors=True)


def _folders(root: Path) -> list[Path]:
    """All checkpoint folders, the newest first."""
    found = [path for path in root.glob("step-*") if _FOLDER.fullmatch(path.name)]
    return sorted(found, key=_step_of, reverse=True)


def _step_of(folder: Path) -> int:
    return int(folder.name[5:])


def write(path: Path, data: bytes | memoryview) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
