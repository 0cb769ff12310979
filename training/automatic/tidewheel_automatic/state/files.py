"""Files that the script wrote with `torch.save`; a resumed script may read them again."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from .. import storage


class Files:
    def __init__(self, root: Path) -> None:
        """`root`: the checkpoint folder, which outlives the host."""
        self._root = os.path.realpath(root)
        self._folder = os.getcwd()
        self._names: dict[str, None] = {}
        sys.addaudithook(self._follow)

    def wrote(self, path: str | os.PathLike[str], *, by_name: bool = True) -> None:
        """`by_name`: else through an open file or archive. Each checkpoint would hold all of those
        that a callback leaves in the checkpoint folder, which are safe there."""
        if by_name or not os.path.realpath(path).startswith(self._root + os.sep):
            self._names[self._name_of(path)] = None

    def contents(self) -> dict[str, bytes]:
        paths = {name: Path(self._folder, name) for name in self._names}
        return {name: path.read_bytes() for name, path in paths.items() if path.is_file()}

    def write_back(self, contents: dict[str, bytes], *, replaces: bool) -> None:
        """`replaces`: what a later step has written; its own content is of the saved step."""
        for name, content in contents.items():
            self._names[name] = None
            path = Path(self._folder, name)
            if path.exists() and not replaces:
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            storage.write(path, content)

    def _name_of(self, path: str | os.PathLike[str]) -> str:
        """A later host may run the script in a folder of another name."""
        whole = os.path.abspath(path)
        below = os.path.relpath(whole, self._folder)
        return whole if below.startswith("..") else below

    def _follow(self, event: str, arguments: tuple[Any, ...]) -> None:
        """The script renames what it has saved, or copies it."""
        if event in ("os.rename", "shutil.copyfile"):
            old, new = arguments[:2]
            is_named = isinstance(old, (str, os.PathLike)) and isinstance(new, (str, os.PathLike))
            if is_named and self._name_of(old) in self._names:
                self.wrote(new)
