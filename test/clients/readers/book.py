"""What a reader saw of each sample, printed for the comparison with the sources."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


class Book:
    """SHA-256 of image and JSON and the label, by the sample's name or its place in a shard.

    Names are `folder/name`, and places `shard-000000.tar#12`.
    """

    def __init__(self) -> None:
        self.samples: dict[str, dict[str, str]] = {}
        self.epochs: list[dict[str, dict[str, str]]] = []

    def begin(self) -> None:
        """Begins an epoch. Each is compared with the sources."""
        if self.samples:
            self.epochs.append(self.samples)
        self.samples = {}

    def note(
        self,
        name: str,
        *,
        image: bytes | None = None,
        pixels: bytes | None = None,
        text: bytes | None = None,
        parsed: Any = None,
        label: object = None,
    ) -> None:
        """Enters a sample; one that is seen twice is an error.

        image: the stored bytes, or `pixels`: RGB of the decoded image, 8 bits each.
        text: the stored JSON, or `parsed`: what the library made of it.
        """
        if name in self.samples:
            raise ValueError(f"{name!r} is there twice")
        if parsed is not None:
            # The sources are written without blanks.
            text = json.dumps(parsed, ensure_ascii=False, separators=(",", ":")).encode()
        found = {
            "image": None if image is None else digest(image),
            "pixels": None if pixels is None else digest(pixels),
            "json": None if text is None else digest(text),
            "label": None if label is None else str(label),
        }
        self.samples[name] = {key: value for key, value in found.items() if value is not None}


Reader = Callable[[Path, Book], None]


def shards(folder: Path) -> list[str]:
    return [str(shard) for shard in sorted(folder.glob("shards/shard-*"))]


def channel(folder: Path) -> list[str]:
    """The shards of a channel, which holds a folder for each generation."""
    return sorted(str(shard) for shard in folder.rglob("shard-*"))


def main(readers: dict[str, tuple[str, Reader]]) -> None:
    """Usage: SCRIPT READER FOLDER. Each with the package that it tries, or '' for Python's own."""
    package, read = readers[sys.argv[1]]
    book = Book()
    read(Path(sys.argv[2]), book)
    book.begin()
    version = importlib.metadata.version(package) if package else platform.python_version()
    seen = {"version": version, "epochs": book.epochs}
    print("saw " + json.dumps(seen))
