"""Reads a folder of WebDataset shards with readers that are not ours and prints what they saw as JSON."""

from __future__ import annotations

import hashlib
import json
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import webdataset  # type: ignore[import-untyped]


def shards(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.tar"))


def with_tarfile(folder: Path) -> dict[str, str]:
    """Member name to SHA-256, by Python's tarfile."""
    seen: dict[str, str] = {}
    for shard in shards(folder):
        with tarfile.open(shard) as archive:
            for member in archive:
                stream = archive.extractfile(member)
                if stream is None or member.name in seen:
                    raise ValueError(f"{shard.name}: {member.name!r} is no file, or there twice")
                seen[member.name] = hashlib.sha256(stream.read()).hexdigest()
    return seen


def samples(folder: Path) -> Iterator[dict[str, bytes]]:
    urls = [f"file:{shard}" for shard in shards(folder)]
    yield from webdataset.WebDataset(urls, shardshuffle=False, empty_check=False)


def with_webdataset(folder: Path) -> dict[str, str]:
    """Key and suffix to SHA-256, by webdataset's own reader."""
    seen: dict[str, str] = {}
    for sample in samples(folder):
        for suffix, body in sample.items():
            if suffix.startswith("__"):
                continue
            name = f"{sample['__key__']}.{suffix}"
            if name in seen:
                raise ValueError(f"{name!r} is there twice")
            seen[name] = hashlib.sha256(body).hexdigest()
    return seen


if __name__ == "__main__":
    where = Path(sys.argv[1])
    json.dump({"tarfile": with_tarfile(where), "webdataset": with_webdataset(where)}, sys.stdout)
