"""A generation: copies of whole checkpoints, made at one moment, with a manifest.

`tidewheel-kept/` contains two parts of each file and two manifests, used in turn: S3 uploads files
in no order, so the newer generation never overwrites what the older one names. A generation counts
when every part has the size and the hash that its manifest lists.
"""

import fcntl
import hashlib
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tidewheel_contract.documents import KeptManifest, KeptManifestFile
from tidewheel_contract.reading import path_in

from ...files import read_document, replacing, write_document

KEPT_FOLDER = KeptManifest.FILE.partition("/")[0]
SLOTS = ("a", "b")


@dataclass(frozen=True)
class Generation:
    sequence: int
    slot: str
    files: Mapping[str, KeptManifestFile]
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
    found = [_read(folder, slot) for slot in SLOTS]
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
    manifest = KeptManifest(
        sequence=generation.sequence, files=dict(generation.files), note=dict(generation.note)
    )
    write_document(path_in(folder, KeptManifest, slot=generation.slot), manifest)


def _read(folder: Path, slot: str) -> Generation | None:
    manifest = read_document(KeptManifest, path_in(folder, KeptManifest, slot=slot))
    if manifest is None:
        return None
    try:
        for name, file in manifest.files.items():
            _check_inside(name)
            _check_inside(file.part)
            if (folder / KEPT_FOLDER / file.part).stat().st_size != file.bytes:
                return None
    except (OSError, ValueError):
        return None
    return Generation(manifest.sequence, slot, manifest.files, manifest.note)


def _check_inside(name: str) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{name} leads out of the folder")


_FICLONE = 0x40049409
"""https://man7.org/linux/man-pages/man2/FICLONE.2const.html"""
_BLOCK_BYTES = 1 << 20


def copy_file(source: Path, target: Path) -> None:
    """As a reflink where the file system can, which costs neither time nor space.

    `target` appears with all its bytes or not at all. Raises OSError.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with source.open("rb") as read, replacing(target) as write:
        if not _clone(read.fileno(), write.fileno()):
            shutil.copyfileobj(read, write, _BLOCK_BYTES)


def _clone(source: int, target: int) -> bool:
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError:
        return False
    return True


def sha256_of(path: Path) -> str:
    """Raises OSError."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()
