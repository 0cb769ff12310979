"""One look at the checkpoint folder: every file with its size and time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .formats.files import FileState
from .links import leads_inside

_DEEPEST = 16
_MOST_FILES = 100_000
_SKIPPED = ("tmp-", "tmp_", ".tmp", "tidewheel-")


@dataclass
class Folder:
    path: Path
    name: str
    """Relative to the checkpoint folder; empty for that folder itself."""
    files: dict[str, FileState] = field(default_factory=dict)
    folders: dict[str, Folder] = field(default_factory=dict)

    @property
    def base_name(self) -> str:
        return self.name.rpartition("/")[2]

    def child(self, name: str) -> str:
        """The name of a file of this folder, relative to the checkpoint folder."""
        return f"{self.name}/{name}" if self.name else name

    def all_files(self) -> Iterator[tuple[str, FileState]]:
        """Names relative to the checkpoint folder, those of folders below included."""
        for name, state in self.files.items():
            yield self.child(name), state
        for folder in self.folders.values():
            yield from folder.all_files()

    def named(self, names: Mapping[str, object] | set[str]) -> dict[str, FileState]:
        return {self.child(name): self.files[name] for name in names if name in self.files}


@dataclass(frozen=True)
class Tree:
    root: Folder
    left_out: str = ""
    """What the look did not reach, and why; empty when it reached everything."""


def look(path: Path) -> Tree:
    """Skips temporary folders, the agent's own, and links to folders and within the folder."""
    walk = _Walk(path)
    return Tree(walk.folder(path, "", 0), walk.left_out)


class _Walk:
    def __init__(self, top: Path) -> None:
        self._top = top
        self._root = os.path.realpath(top)
        self._count = 0
        self.left_out = ""

    def folder(self, path: Path, name: str, depth: int) -> Folder:
        found = Folder(path, name)
        for entry in _entries(path):
            if self._count >= _MOST_FILES:
                self.left_out = f"everything behind the first {_MOST_FILES} files of {self._top}"
                break
            if entry.is_dir(follow_symlinks=False):
                if is_skipped(entry.name):
                    continue
                if depth >= _DEEPEST:
                    self.left_out = f"folders below {path}, more than {_DEEPEST} levels deep"
                    continue
                below = found.child(entry.name)
                found.folders[entry.name] = self.folder(path / entry.name, below, depth + 1)
            else:
                self._count += 1
                is_alias = entry.is_symlink() and leads_inside(entry.path, self._root)
                state = None if is_alias else _state(entry)
                if state is not None:
                    found.files[entry.name] = state
        return found


def is_skipped(name: str) -> bool:
    return name.startswith(_SKIPPED) or name.endswith(".tmp") or "-checkpoint-tmp" in name


def _entries(path: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _state(entry: os.DirEntry[str]) -> FileState | None:
    try:
        status = entry.stat()
    except OSError:
        return None
    if not entry.is_file():
        return None
    return FileState(status.st_size, status.st_mtime_ns)
