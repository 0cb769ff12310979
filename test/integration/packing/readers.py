"""Reads shards with readers that are not ours and prints what they saw as JSON.

Usage: readers.py FORMAT FOLDER [SITE_PACKAGES_WITH_TORCH]
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
import tarfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

Seen = dict[str, dict[str, str]]


def sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def with_tarfile(folder: Path) -> dict[str, str]:
    """Member name to SHA-256, by Python's tarfile."""
    seen: dict[str, str] = {}
    for shard in sorted(folder.glob("shards/*.tar")):
        with tarfile.open(shard) as archive:
            for member in archive:
                stream = archive.extractfile(member)
                if stream is None or member.name in seen:
                    raise ValueError(f"{shard.name}: {member.name!r} is no file, or there twice")
                seen[member.name] = sha256(stream.read())
    return seen


def with_webdataset(folder: Path) -> dict[str, str]:
    """Key and suffix to SHA-256, by webdataset's own reader."""
    import webdataset  # type: ignore[import-untyped]

    seen: dict[str, str] = {}
    urls = [f"file:{shard}" for shard in sorted(folder.glob("shards/*.tar"))]
    for sample in webdataset.WebDataset(urls, shardshuffle=False, empty_check=False):
        for suffix, body in sample.items():
            if suffix.startswith("__"):
                continue
            name = f"{sample['__key__']}.{suffix}"
            if name in seen:
                raise ValueError(f"{name!r} is there twice")
            seen[name] = sha256(body)
    return seen


def tar(folder: Path) -> Seen:
    return {"tarfile": with_tarfile(folder), "webdataset": with_webdataset(folder)}


def with_tfrecord(folder: Path) -> Seen:
    """Key to SHA-256 of the image and to the label, by the tfrecord package and protobuf."""
    from tfrecord.reader import tfrecord_loader  # type: ignore[import-untyped]

    images: dict[str, str] = {}
    labels: dict[str, str] = {}
    for shard in sorted(folder.glob("shards/*.tfrecord*")):
        compression = "gzip" if shard.suffix == ".gz" else None
        for example in tfrecord_loader(str(shard), None, compression_type=compression):
            key = bytes(example["__key__"]).decode()
            images[key] = sha256(bytes(example["image"]))
            labels[key] = str(int(example["label"][0]))
    return {"images": images, "labels": labels}


def streaming_reader() -> Callable[[str, Any, Any], Any]:
    """mosaicml-streaming's reader without what its package imports for training and for clouds."""
    spec = importlib.util.find_spec("streaming")
    if spec is None or spec.submodule_search_locations is None:
        raise ImportError("mosaicml-streaming is not installed")
    root = Path(spec.submodule_search_locations[0])
    for name, path in (("streaming", root), ("streaming.base", root / "base")):
        module = types.ModuleType(name)
        module.__path__ = [str(path)]
        sys.modules[name] = module
    from streaming.base.format import reader_from_json  # type: ignore[import-untyped]

    read: Callable[[str, Any, Any], Any] = reader_from_json
    return read


def with_streaming(folder: Path) -> Seen:
    """Key to SHA-256 of the image's stored bytes and to the label, by mosaicml-streaming."""
    read = streaming_reader()
    images: dict[str, str] = {}
    labels: dict[str, str] = {}
    for entry in json.loads((folder / "index.json").read_text())["shards"]:
        shard = read(str(folder), None, entry)
        shard.validate(allow_unsafe_types=False)
        column = shard.column_names.index("image")
        shard.column_encodings[column] = "bytes"
        for index in range(shard.samples):
            sample = shard.get_item(index)
            images[sample["__key__"]] = sha256(sample["image"])
            labels[sample["__key__"]] = str(sample["label"])
    return {"images": images, "labels": labels}


READERS: dict[str, Callable[[Path], Seen]] = {
    "webdataset": tar,
    "tfrecord": with_tfrecord,
    "tfrecord in gzip": with_tfrecord,
    "mds": with_streaming,
}

if __name__ == "__main__":
    sys.path.extend(sys.argv[3:])
    json.dump(READERS[sys.argv[1]](Path(sys.argv[2])), sys.stdout)
