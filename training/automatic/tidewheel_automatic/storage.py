"""Checkpoints on disk: `step-00000120/` with a marker that is written last.

The layout is that of Tidewheel's recipes, so the agent recognises it. Each rank writes one file,
and the first rank writes the marker, with all checksums, when all are there.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import shutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from tidewheel._checkpoint_folder import (
    MARKER,
    find_folders,
    folder_of_step,
    sha256_of,
    write_synced,
)
from tidewheel_contract.documents import CompletionMarker, CompletionMarkerFile
from tidewheel_contract.keep_last import superseded
from tidewheel_contract.reading import parse, text_of

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
            marker = parse(CompletionMarker, (folder / MARKER).read_text(encoding="utf-8"))
            if marker.writer != "automatic" or len(marker.files) != count:
                continue
            if all(sha256_of(folder / name) == marker.files[name].sha256 for name in needed):
                steps.append(_step_of(folder))
        except (OSError, ValueError, KeyError):
            continue
    return steps


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

    folder = folder_of_step(root, step)
    folder.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    torch.save(state, buffer)
    data = buffer.getbuffer()
    write_synced(folder / f"rank-{rank}.pt", data)
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def complete(
    root: Path, step: int, files: dict[str, Any], taken_at: float | None = None
) -> list[int]:
    """Writes the marker and removes what it supersedes; returns the steps that stay.

    `taken_at`: Unix seconds at which the training had this state.
    """
    folder = folder_of_step(root, step)
    here = {path.name for path in folder.iterdir()}
    marker = CompletionMarker(
        writer="automatic",
        step=step,
        files={name: CompletionMarkerFile(**file) for name, file in files.items()},
        # Files of other hosts come together in the bucket.
        elsewhere=sorted(set(files) - here) or None,
        taken_at=taken_at,
    )
    write_synced(folder / MARKER, text_of(marker).encode())
    there = _folders(root)
    marked = {each for each in there if (each / MARKER).exists()}
    going = superseded(there[::-1], _KEPT, marked.__contains__)
    for old in going:
        if _step_of(old) < step:
            shutil.rmtree(old, ignore_errors=True)
    return [_step_of(each) for each in there if each in marked and each not in going]


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
    return [folder for _, folder in sorted(find_folders(root), reverse=True)]


def _step_of(folder: Path) -> int:
    return int(folder.name[5:])


def write_json(path: Path, document: dict[str, Any]) -> None:
    write_synced(path, json.dumps(document).encode())


def tell_agent(path: Path, step: int, reason: str, *, for_good: bool = False) -> None:
    """`path`: the folder of the trial, and STOPPED or FAILED_RESUME."""
    more = {"forGood": True} if for_good else {}
    with contextlib.suppress(OSError):
        write_json(path, {"step": step, "reason": reason, **more})
