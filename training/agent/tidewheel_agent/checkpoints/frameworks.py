"""The checkpoints of scripts that do not know Tidewheel: PyTorch, Lightning, Hugging Face,
DeepSpeed, Keras, TensorFlow.

These have no marker, so each format's own end proves that a checkpoint is complete: a zip has its
directory last, safetensors and HDF5 name their length, TensorFlow and DeepSpeed write a pointer
file after the data, Hugging Face its trainer state. A file that is still being written is
incomplete.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import struct
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from .checkpoint import Checkpoint, finite_numbers
from .pickle_steps import STEP_NAMES, steps_in_pickle

UNKNOWN_STEP = -1
_DEPTH = 4
_MOST_ENTRIES = 5000
_ZIPPED = (".pt", ".pth", ".ckpt", ".bin", ".keras", ".tar")
_HDF5 = (".h5", ".hdf5")
_STEP_IN_NAME = re.compile(r"(?:global_?step|step|iter(?:ation)?)[=_-]?(\d{1,12})", re.IGNORECASE)
_NUMBER_AT_END = re.compile(r"(\d{1,12})(?!.*\d)")
_PART_OF_WHOLE = re.compile(r"checkpoint-\d{1,12}|global_step\d{1,12}")
_HUGGING_FACE = re.compile(r"checkpoint-(\d{1,12})")


class FrameworkCheckpoints:
    """Finds checkpoints of all known formats; remembers which files it has read."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, int], int | None] = {}

    def find_last(self, folder: Path) -> Checkpoint | None:
        """The complete checkpoint that was written last, or None."""
        found = max(self._find_all(folder), key=lambda c: (c.saved_at, c.step), default=None)
        return found and replace(found, name=os.path.relpath(found.name, folder))

    def _find_all(self, folder: Path) -> Iterator[Checkpoint]:
        for current, files in _walk(folder):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
                whole = self._read_folder(current, files)
                if whole is not None:
                    yield whole
                    continue
            # In a folder that counts only as a whole, a single file proves nothing.
            if _PART_OF_WHOLE.fullmatch(current.name):
                continue
            for name in files:
                with contextlib.suppress(OSError):
                    single = self._read_file(current / name)
                    if single is not None:
                        yield single

    def _read_folder(self, folder: Path, files: list[str]) -> Checkpoint | None:
        """A folder that is one checkpoint, recognised by the file that is written last."""
        match = _HUGGING_FACE.fullmatch(folder.name)
        if match:
            return self._hugging_face(folder, files, int(match[1]))
        if ".metadata" in files:
            return _whole(folder, files, step_in_name(folder.name), folder / ".metadata")
        if "latest" in files:
            tag = (folder / "latest").read_text(encoding="utf-8").strip()
            inside = folder / tag
            if "/" not in tag and inside.is_dir():
                entries = [entry.name for entry in inside.iterdir() if entry.is_file()]
                return _whole(inside, entries, step_in_name(tag), folder / "latest")
        if "checkpoint" in files:
            return _tensorflow(folder, files)
        return None

    def _hugging_face(self, folder: Path, files: list[str], step: int) -> Checkpoint | None:
        last = folder / "trainer_state.json"
        if last.name not in files:
            return None
        state = json.loads(last.read_text(encoding="utf-8"))
        if any(not self._is_whole_file(folder / name) for name in files):
            return None
        metrics: dict[str, float] = {}
        for entry in state.get("log_history", []):
            metrics |= finite_numbers(entry)
        total = state.get("max_steps")
        return replace(
            _whole(folder, files, step, last),
            total_steps=total if isinstance(total, int) and total > 0 else None,
            metrics={k: v for k, v in metrics.items() if k not in ("step", "epoch")},
        )

    def _read_file(self, path: Path) -> Checkpoint | None:
        if path.suffix not in (*_ZIPPED, *_HDF5, ".safetensors"):
            return None
        step = self._step_of(path)
        if step is None:
            return None
        status = path.stat()
        return Checkpoint(
            step, str(path), None, None, size_bytes=status.st_size, saved_at=status.st_mtime
        )

    def _is_whole_file(self, path: Path) -> bool:
        known = path.suffix in (*_ZIPPED, *_HDF5, ".safetensors")
        return not known or self._step_of(path) is not None

    def _step_of(self, path: Path) -> int | None:
        """The file's step, or UNKNOWN_STEP; None when the file is incomplete."""
        status = path.stat()
        version = (str(path), status.st_size, status.st_mtime_ns)
        if version not in self._known:
            if len(self._known) > _MOST_ENTRIES:
                self._known.clear()
            self._known[version] = _read_step(path)
        return self._known[version]


def _walk(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """Folders with their files, to a bounded depth and number; skips temporary folders."""
    seen = 0
    top = len(folder.parts)
    for name, folders, files in os.walk(folder):
        current = Path(name)
        folders[:] = sorted(
            f
            for f in folders
            if not f.startswith(("tmp-", "tmp_", "tidewheel-")) and not f.endswith(".tmp")
        )
        if len(current.parts) - top >= _DEPTH:
            folders.clear()
        seen += len(files) + 1
        if seen > _MOST_ENTRIES:
            return
        yield current, sorted(files)


def _whole(folder: Path, files: list[str], step: int, last: Path) -> Checkpoint:
    size = sum((folder / name).stat().st_size for name in files)
    return Checkpoint(step, str(folder), None, None, size_bytes=size, saved_at=last.stat().st_mtime)


def _tensorflow(folder: Path, files: list[str]) -> Checkpoint | None:
    """The file `checkpoint` names the newest prefix and is written after the prefix's files."""
    text = (folder / "checkpoint").read_text(encoding="utf-8")
    match = re.search(r'^model_checkpoint_path: "([^"/]+)"$', text, re.MULTILINE)
    if match is None:
        return None
    parts = [name for name in files if name.startswith(f"{match[1]}.")]
    if f"{match[1]}.index" not in parts or len(parts) < 2:
        return None
    whole = _whole(folder, parts, step_in_name(match[1]), folder / "checkpoint")
    return replace(whole, name=str(folder / match[1]))


def step_in_name(name: str) -> int:
    """120 for `epoch=3-step=120.ckpt`; without a word for the step, the last number in the name."""
    match = _STEP_IN_NAME.search(name) or _NUMBER_AT_END.search(name.split(".", 1)[0])
    return int(match[1]) if match else UNKNOWN_STEP


def _read_step(path: Path) -> int | None:
    try:
        if path.suffix == ".safetensors":
            return step_in_name(path.name) if _safetensors_is_whole(path) else None
        if path.suffix in _HDF5:
            return step_in_name(path.name) if _hdf5_is_whole(path) else None
        if not zipfile.is_zipfile(path):
            return None
        if _STEP_IN_NAME.search(path.name):
            return step_in_name(path.name)
        # A bare number in the name may be a version, so the step inside the file comes first.
        inside = _step_in_zip(path)
        return inside if inside != UNKNOWN_STEP else step_in_name(path.name)
    except (OSError, ValueError, KeyError, struct.error, zipfile.BadZipFile, RecursionError):
        return None


def _step_in_zip(path: Path) -> int:
    """torch.save puts the structure into `<name>/data.pkl`, which is read here and never run."""
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if info.filename.endswith("/data.pkl") and info.file_size < 50_000_000:
                steps = steps_in_pickle(archive.read(info))
                for name in STEP_NAMES:
                    if name in steps:
                        return steps[name]
    return UNKNOWN_STEP


def _safetensors_is_whole(path: Path) -> bool:
    """The file is header length, header, data; the header's offsets say how long the data is.
    Format: https://github.com/huggingface/safetensors"""
    with path.open("rb") as file:
        length = int(struct.unpack("<Q", file.read(8))[0])
        if length > 100_000_000:
            return False
        header = json.loads(file.read(length))
    ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
    return bool(path.stat().st_size == 8 + length + max(ends, default=0))


def _hdf5_is_whole(path: Path) -> bool:
    """The superblock holds the end-of-file address (HDF5 file format specification, II.A)."""
    with path.open("rb") as file:
        head = file.read(56)
    if len(head) < 56 or head[:8] != b"\x89HDF\r\n\x1a\n":
        return False
    offset = {0: 40, 1: 44, 2: 28, 3: 28}.get(head[8])
    if offset is None:
        return False
    end = int(struct.unpack_from("<Q", head, offset)[0])
    return path.stat().st_size >= end > 0
