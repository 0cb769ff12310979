"""Checkpoints on disk: `step-00000120/` with a marker that is written last.

The layout is that of Tidewheel's recipes, so the agent recognises it. Each rank writes one file
with its checksum beside it; the first rank writes the marker when all are there.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import time
from pathlib import Path
from typing import Any

MARKER = "COMPLETE.json"
_FOLDER = re.compile(r"step-(\d{8,12})")
_KEPT = 2
_RANKS_SECONDS = 60.0


def newest(root: Path, ranks: int) -> Path | None:
    """The newest checkpoint of this number of ranks whose files match their checksums."""
    for folder in _folders(root):
        try:
            marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
            files = marker["files"]
            if marker["writer"] != "automatic" or len(files) != ranks:
                continue
            if all(_sha256(folder / name) == file["sha256"] for name, file in files.items()):
                return folder
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None


def load(folder: Path, rank: int) -> dict[str, Any]:
    import torch

    # The agent's own file of this run, checked by its checksum.
    state = torch.load(folder / f"rank-{rank}.pt", map_location="cpu", weights_only=False)
    assert isinstance(state, dict)
    return state


def save(root: Path, step: int, rank: int, ranks: int, state: dict[str, Any]) -> int:
    """Writes this rank's file and, on the first rank, the marker; returns the bytes written."""
    import torch

    folder = root / f"step-{step:08d}"
    folder.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    torch.save(state, buffer)
    data = buffer.getbuffer()
    name = f"rank-{rank}.pt"
    write(folder / name, data)
    described = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    if ranks > 1:
        write(folder / f"{name}.json", json.dumps(described).encode())
    if rank == 0:
        files = {name: described} if ranks == 1 else _of_all_ranks(folder, ranks)
        marker = {"writer": "automatic", "step": step, "files": files}
        write(folder / MARKER, json.dumps(marker, sort_keys=True).encode())
        for old in _folders(root)[_KEPT:]:
            shutil.rmtree(old, ignore_errors=True)
    return len(data)


def remove_all(root: Path) -> None:
    """Removes the checkpoints of the hooks: no process can restore them."""
    for folder in _folders(root):
        shutil.rmtree(folder, ignore_errors=True)


def _of_all_ranks(folder: Path, ranks: int) -> dict[str, Any]:
    deadline = time.monotonic() + _RANKS_SECONDS
    names = [f"rank-{rank}.pt" for rank in range(ranks)]
    while not all((folder / f"{name}.json").exists() for name in names):
        if time.monotonic() > deadline:
            raise OSError(f"not every rank saved within {_RANKS_SECONDS:g} s in {folder}")
        time.sleep(0.005)
    return {name: json.loads((folder / f"{name}.json").read_text()) for name in names}


def _folders(root: Path) -> list[Path]:
    """All checkpoint folders, the newest first."""
    found = [path for path in root.glob("step-*") if _FOLDER.fullmatch(path.name)]
    return sorted(found, key=lambda path: int(path.name[5:]), reverse=True)


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
