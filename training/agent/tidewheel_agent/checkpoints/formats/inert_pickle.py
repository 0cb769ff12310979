"""Reads the structure of a pickle without running it.

A pickle names functions and calls them, so loading one from a checkpoint would run its code. Here
every name stands for a class that does nothing: calls return empty instances of it. Dictionaries,
lists, numbers and strings come out as they were saved.
"""

from __future__ import annotations

import io
import math
import pickle
import re
import zlib
from collections.abc import Hashable
from pathlib import Path
from typing import BinaryIO

from .step_names import Reading, position_inside


class Inert(dict[object, object]):
    """Stands for every class and function that a pickle names. A subclass carries its name.

    A dict, because ordered and default dictionaries fill themselves by item.
    """

    arguments: tuple[object, ...] = ()
    state: object = None

    def __new__(cls, *arguments: object, **_named: object) -> Inert:
        made = super().__new__(cls)
        made.arguments = arguments
        return made

    def __init__(self, *_arguments: object, **_named: object) -> None:
        super().__init__()

    def __call__(self, *arguments: object, **named: object) -> Inert:
        return type(self)(*arguments, **named)

    def __setstate__(self, state: object) -> None:
        self.state = state

    def append(self, _item: object) -> None:
        """Subclasses of list fill themselves so."""

    extend = add = append

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


class StorageReference(Inert):
    """What torch.save puts in place of a tensor's bytes: `(kind, type, key, device, length)`."""


class InertUnpickler(pickle.Unpickler):
    """Reads one pickle from `stream`; several may follow one another in it."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream)
        self._stream = stream
        self.storages: dict[Hashable, tuple[str, object]] = {}
        """Type and length of each storage that the pickle refers to, by its key."""

    def find_class(self, module: str, name: str) -> type[Inert]:
        members: dict[str, object] = {"__module__": module}
        if name == "NumpyArrayWrapper":
            members["__setstate__"] = lambda _, state: _skip_array(self._stream, state)
        return type(name.replace(".", "_") or "_", (Inert,), members)

    def persistent_load(self, pid: object) -> Inert:
        if isinstance(pid, tuple) and len(pid) >= 5 and isinstance(pid[2], Hashable):
            kind = pid[1]
            name = kind.__name__ if isinstance(kind, type) else type(kind).__name__
            self.storages[pid[2]] = (name, pid[4])
        return StorageReference()


_ELEMENT = re.compile(r"[<>|=]?([A-Za-z])(\d+)")


def _skip_array(stream: BinaryIO, state: object) -> None:
    """joblib writes an array's bytes behind the opcodes that describe it. Source: joblib/
    numpy_pickle.py, `NumpyArrayWrapper.write_array`."""
    wrapped = state if isinstance(state, dict) else {}
    arguments = wrapped["dtype"].arguments
    element = _ELEMENT.fullmatch(str(arguments[0]))
    if element is None:
        raise NotImplementedError(f"an array of {arguments!r}")
    if element[1] == "O":
        load_inert(InertUnpickler(stream))
        return
    if wrapped.get("numpy_array_alignment_bytes"):
        stream.seek(stream.read(1)[0], io.SEEK_CUR)
    width = int(element[2]) * (4 if element[1] == "U" else 1)
    length = width * math.prod(wrapped["shape"])
    if len(stream.read(length)) < length:
        raise ValueError("an array is cut off")


def read_pickle(content: bytes) -> object:
    """Raises ValueError for bytes that are no whole pickle."""
    return load_inert(InertUnpickler(io.BytesIO(content)))


def load_inert(unpickler: InertUnpickler) -> object:
    try:
        return unpickler.load()
    except Exception as error:  # A damaged or hostile pickle raises any exception.
        raise ValueError(f"no whole pickle: {error!r}") from error


def kind_of(value: object) -> str:
    """The class or function that made a value, such as `_rebuild_tensor_v2`."""
    return type(value).__name__


_LARGEST_FILE = 64 * 1024 * 1024
_STOP = b"."
_ZLIB = b"\x78"


def read_pickle_file(path: Path) -> Reading | None:
    """None where the file cannot be read to its end: too large, compressed in another way than
    joblib's own, or with arrays of an unknown type. Such a file counts once it has been quiet."""
    size = path.stat().st_size
    if size == 0 or size > _LARGEST_FILE:
        return None
    content = path.read_bytes()
    try:
        if content[:1] == _ZLIB:
            inflate = zlib.decompressobj()
            content = inflate.decompress(content, _LARGEST_FILE)
            if inflate.unconsumed_tail:
                return None
            if not inflate.eof:
                raise ValueError("its end is missing")
        if content[:1] != b"\x80" and content[-1:] != _STOP:
            return None
        return Reading(position=position_inside(read_pickle(content)))
    except (ValueError, zlib.error) as error:
        is_unknown = isinstance(error.__cause__, NotImplementedError)
        return None if is_unknown else Reading(f"{path.name} is cut off")
