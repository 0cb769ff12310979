"""What a family of frameworks finds in a folder."""

import contextlib
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..formats.files import FileReader, FileState
from ..formats.inert_pickle import InertUnpickler, load_inert
from ..formats.step_names import Position, position_in_name
from ..tree import Folder


@dataclass(frozen=True)
class Found:
    """A checkpoint; `problem` says why it is not whole."""

    family: str
    name: str
    """Relative to the checkpoint folder: a folder, a file, or the prefix of several files."""
    files: Mapping[str, FileState]
    position: Position | None
    problem: str = ""
    total_steps: int | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    needs_quiet: bool = False
    """More files may follow: it counts once none has changed for a while."""
    is_weights_only: bool = False
    elsewhere: Mapping[str, int] = field(default_factory=dict)
    """Bytes of the files that it lists and that are not here: other hosts may hold them."""

    @property
    def saved_at(self) -> float:
        """Unix seconds of the newest file."""
        return max((state.modified_at for state in self.files.values()), default=0.0)

    @property
    def size_bytes(self) -> int:
        here = sum(state.size_bytes for state in self.files.values())
        return here + sum(self.elsewhere.values())


@dataclass(frozen=True)
class Claim:
    """The checkpoints of one family in a folder, and the entries that belong to them."""

    found: tuple[Found, ...]
    names: frozenset[str]


Family = Callable[[Folder, FileReader], "Claim | None"]
"""None: the folder holds nothing of this family. Raises OSError and ValueError."""


def found_in(
    folder: Folder, family: str, problem: str = "", position: Position | None = None
) -> Found:
    """All of the folder's files. Without a `position` the folder's name tells it."""
    return Found(
        family,
        folder.name or ".",
        dict(folder.all_files()),
        position or position_of_folder(folder),
        f"{folder.name or folder.path.name}: {problem}" if problem else "",
    )


def whole_folder(folder: Folder, found: Found) -> Claim:
    """Everything in the folder belongs to one checkpoint."""
    return Claim((found,), frozenset({*folder.files, *folder.folders}))


def problem_of_files(folder: Folder, reader: FileReader) -> str:
    """The first file of the folder, or of one below it, that is not whole."""
    for name, state in folder.files.items():
        with contextlib.suppress(OSError):
            reading = reader.read(folder.path / name, state)
            if reading is not None and not reading.is_whole:
                return reading.problem
    for below in folder.folders.values():
        problem = problem_of_files(below, reader)
        if problem:
            return problem
    return ""


def first_problem(folder: Folder, reader: FileReader, names: Iterable[str]) -> str:
    """Of these files of the folder. Raises OSError."""
    readings = (reader.read(folder.path / name, folder.files[name]) for name in names)
    return next((reading.problem for reading in readings if reading and reading.problem), "")


def read_saved(path: Path) -> object:
    """The structure of a zip of torch.save; None where it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            name = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
            with archive.open(name) as file:
                return load_inert(InertUnpickler(file))  # type: ignore[arg-type]
    except (zipfile.BadZipFile, ValueError, StopIteration):
        return None


def position_of_folder(folder: Folder) -> Position | None:
    """From its name, or else from the nearest folder above it."""
    for part in reversed(folder.name.split("/")):
        position = position_in_name(part)
        if position is not None:
            return position
    return None


def read_json_object(folder: Folder, name: str) -> dict[str, object]:
    """Raises OSError and ValueError."""
    value = json.loads((folder.path / name).read_text(encoding="utf-8"))
    if not isinstance(value, dict):
        raise ValueError(f"{name} holds no object")
    return value
