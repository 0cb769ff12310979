"""Reads any single file that may be a checkpoint; remembers what it has read."""

import json
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .inert_pickle import read_pickle_file
from .journals import HEAD, read_journal
from .msgpack import read_msgpack
from .sqlite import SQLITE_HEAD, read_sqlite
from .step_names import Reading
from .torch_files import read_legacy, read_zip
from .tree_models import read_lightgbm, read_ubjson, read_xgboost_json

_LARGEST_HEADER = 100_000_000


def read_safetensors(path: Path) -> Reading:
    """The file is header length, header, data; the header's offsets say how long the data is.
    Format: https://github.com/huggingface/safetensors"""
    with path.open("rb") as file:
        try:
            length = int(struct.unpack("<Q", file.read(8))[0])
            if length > _LARGEST_HEADER:
                return Reading(f"{path.name} has no safetensors header")
            header = json.loads(file.read(length))
            tensors = [entry for name, entry in header.items() if name != "__metadata__"]
            end = max((int(entry["data_offsets"][1]) for entry in tensors), default=0)
        except (ValueError, struct.error, KeyError, TypeError, AttributeError, IndexError):
            return Reading(f"{path.name} is cut off inside its header")
    expected, actual = 8 + length + end, path.stat().st_size
    if actual != expected:
        return Reading(f"{path.name} has {actual} of {expected} bytes")
    return Reading(is_weights_only=True)


def read_hdf5(path: Path) -> Reading:
    """The superblock holds the end-of-file address (HDF5 file format specification, II.A). It is
    that of the file's beginning until the file is closed, and then its length."""
    with path.open("rb") as file:
        head = file.read(56)
    offset = {0: 40, 1: 44, 2: 28, 3: 28}.get(head[8]) if len(head) == 56 else None
    if offset is None or head[:8] != b"\x89HDF\r\n\x1a\n":
        return Reading(f"{path.name} has no HDF5 superblock")
    expected, actual = int(struct.unpack_from("<Q", head, offset)[0]), path.stat().st_size
    if actual != expected or actual == 0:
        return Reading(f"{path.name} has {actual} of {expected} bytes")
    return Reading(is_weights_only=True)


_MOST_KNOWN = 20_000
_SHARE_OF_TIME = 0.02
"""Of the agent's time that checksums of files may take while the script trains."""
_TORCH = (".pt", ".pth", ".ckpt", ".bin", ".tar", ".t7")
_ALWAYS_ZIPS = (".npz", ".keras")
_READERS: dict[str, Callable[[Path], Reading | None]] = {
    ".safetensors": read_safetensors,
    **dict.fromkeys((".h5", ".hdf5"), read_hdf5),
    ".json": read_xgboost_json,
    ".ubj": read_ubjson,
    ".msgpack": read_msgpack,
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), read_pickle_file),
}


@dataclass(frozen=True)
class FileState:
    """Size and time of a file at the moment of the walk."""

    size_bytes: int
    modified_ns: int

    @property
    def modified_at(self) -> float:
        return self.modified_ns / 1e9


class FileReader:
    """`checks_everything`: checksums are compared whatever the files' sizes."""

    def __init__(self) -> None:
        self._known: dict[tuple[Path, FileState], Reading | None] = {}
        self._checked_seconds = 0.0
        self._started_at = time.monotonic()
        self.checks_everything = True

    def read(
        self,
        path: Path,
        state: FileState,
        reads: Callable[[Path], Reading | None] | None = None,
    ) -> Reading | None:
        """None for a file that is no checkpoint by itself. Raises OSError.

        `reads`: the reader of its format, where neither head nor suffix names one.
        """
        version = (path, state)
        if version not in self._known:
            if len(self._known) > _MOST_KNOWN:
                self._known.clear()
            self._known[version] = (reads or self._read)(path)
        return self._known[version]

    def _read(self, path: Path) -> Reading | None:
        with path.open("rb") as file:
            head = file.read(16)
        if head[:2] == b"PK":
            return self._read_zip(path)
        if head.startswith(b"tree\nversion="):
            return read_lightgbm(path)
        if head.startswith(HEAD):
            return read_journal(path)
        if head[:1] == b"\x80":
            legacy = read_legacy(path)
            if legacy is not None:
                return legacy
        if head == SQLITE_HEAD:
            return read_sqlite(path)
        suffix = ".h5" if head[:8] == b"\x89HDF\r\n\x1a\n" else path.suffix.lower()
        if suffix in _READERS:
            return _READERS[suffix](path)
        # A name is no proof of a format: spaCy's `.bin` is MessagePack. A kill leaves no bytes, or
        # zeros.
        if suffix in _ALWAYS_ZIPS or (suffix in _TORCH and not head.strip(b"\0")):
            return Reading(f"{path.name} has neither the head of a zip nor of a pickle")
        return None

    def _read_zip(self, path: Path) -> Reading | None:
        started = time.monotonic()
        spare = _SHARE_OF_TIME * (started - self._started_at) - self._checked_seconds
        checks_sums = self.checks_everything or spare > 0
        reading = read_zip(path, checks_sums=checks_sums)
        if checks_sums and not self.checks_everything:
            self._checked_seconds += time.monotonic() - started
        return reading
