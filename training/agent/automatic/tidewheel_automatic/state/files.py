"""Files that the script wrote with `torch.save`; a resumed script may read them again."""

from __future__ import annotations

import os
from pathlib import Path


class Files:
    def __init__(self) -> None:
        self._folder = os.getcwd()
        self._names: dict[str, None] = {}

    def wrote(self, path: str) -> None:
        """A later host may run the script in a folder of another name."""
        below = os.path.relpath(path, self._folder)
        self._names[path if below.startswith("..") else below] = None

    def contents(self) -> dict[str, bytes]:
        paths = {name: Path(self._folder, name) for name in self._names}
        return {name: path.read_bytes() for name, path in paths.items() if path.is_file()}

    def write_back(self, contents: dict[str, bytes]) -> None:
        for name, content in contents.items():
            self._names[name] = None
            path = Path(self._folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
