"""Safetensors and HDF5: their heads say how long the whole file is."""

from __future__ import annotations

import json
import struct
from pathlib import Path

from .reading import Reading

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
    """The superblock holds the end-of-file address (HDF5 file format specification, II.A)."""
    with path.open("rb") as file:
        head = file.read(56)
    offset = {0: 40, 1: 44, 2: 28, 3: 28}.get(head[8]) if len(head) == 56 else None
    if offset is None or head[:8] != b"\x89HDF\r\n\x1a\n":
        return Reading(f"{path.name} has no HDF5 superblock")
    expected, actual = int(struct.unpack_from("<Q", head, offset)[0]), path.stat().st_size
    if not actual >= expected > 0:
        return Reading(f"{path.name} has {actual} of {expected} bytes")
    return Reading(is_weights_only=True)
