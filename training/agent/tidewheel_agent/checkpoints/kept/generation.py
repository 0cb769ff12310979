"""A generation: copies of whole checkpoints, made at one moment, with a manifest.

`tidewheel-kept/` holds two parts of each file and two manifests, used in turn: S3 uploads files in
no order, so the newer generation never overwrites what the older one names. A generation counts
when every part has the size and the hash that its manifest lists.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from ...files import UNREADABLE, write_atomically
from .copy_file import sha256_of

KEPT_FOLDER = "tidewheel-kept"
SLOTS = ("a", "b")


@dataclass(frozen=True)
class KeptFile:
    part: str
    bytes: int
    sha256: str
    modified_ns: int
    checkpoint: str
    """The name of the checkpoint to which the file belongs."""
    has_position: bool
    """The checkpoint tells its own step. Others belong together with their neighbours."""
    is_weak: bool


@dataclass(frozen=True)
class Generation:
    sequence: int
    slot: str
    files: Mapping[str, KeptFile]
    """By the name relative to the checkpoint folder."""
    note: Mapping[str, object]
    """The progress note of that moment."""

    def names_of(self, checkpoint: str) -> list[str]:
        return [name for name, file in self.files.items() if file.checkpoint == checkpoint]


def part_name(name: str, slot: str) -> str:
    """Parts have names of their own, so that no script takes one for its checkpoint."""
    return f"{hashlib.sha256(name.encode()).hexdigest()[:16]}-{slot}"


def read_generations(folder: Path) -> list[Generation]:
    """Newest first; without those whose parts lack bytes. `is_intact` compares the hashes."""
    found = [_read(folder / KEPT_FOLDER, slot) for slot in SLOTS]
    return sorted((g for g in found if g is not None), key=lambda g: -g.sequence)


def is_intact(folder: Path, generation: Generation, names: Iterable[str]) -> bool:
    try:
        return all(
            sha256_of(folder / KEPT_FOLDER / generation.files[name].part)
            == generation.files[name].sha256
            for name in names
        )
    except OSError:
        return False


def write_generation(folder: Path, generation: Generation) -> None:
    files = {name: asdict(file) for name, file in generation.files.items()}
    document = {"sequence": generation.sequence, "files": files, "note": generation.note}
    path = folder / KEPT_FOLDER / f"generation-{generation.slot}.json"
    write_atomically(path, json.dumps(document, sort_keys=True) + "\n")


def _read(kept: Path, slot: str) -> Generation | None:
    try:
        document = json.loads((kept / f"generation-{slot}.json").read_text(encoding="utf-8"))
        files = {str(name): KeptFile(**file) for name, file in document["files"].items()}
        for name, file in files.items():
            _check_inside(name)
            _check_inside(file.part)
            if (kept / file.part).stat().st_size != file.bytes:
                return None
        return Generation(int(document["sequence"]), slot, files, dict(document["note"]))
    except UNREADABLE:
        return None


def _check_inside(name: str) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{name} leads out of the folder")
