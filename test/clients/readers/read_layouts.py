"""Reads each layout that lies packed below a folder with one library, and prints what it saw.

Usage: SCRIPT READER FOLDER, where FOLDER/LAYOUT/shards/[SPLIT/]… are shards.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]
OWN = {"__key__", "__url__", "__local_path__"}


def shown(value: Any) -> str:
    """Bytes and texts by their digest, decoded images by their size."""
    size = getattr(value, "size", None)
    if isinstance(size, tuple):
        return f"{size[0]}x{size[1]}"
    if isinstance(value, dict) and set(value) == {"bytes", "path"}:
        value = value["bytes"]
    if isinstance(value, dict | list):
        value = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, str):
        value = value.encode()
    return hashlib.sha256(bytes(value)).hexdigest()


def label_of(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def noted(row: Row) -> dict[str, str]:
    """The columns of a sample; those that it lacks are empty."""
    return {
        name: label_of(value) if name in ("label", "cls") else shown(value)
        for name, value in row.items()
        if name not in OWN and value is not None
    }


def with_webdataset(folder: Path, shards: list[str]) -> Iterator[Row]:
    import webdataset  # type: ignore[import-not-found]

    yield from webdataset.WebDataset([f"file:{shard}" for shard in shards], shardshuffle=False)


def with_streaming(folder: Path, shards: list[str]) -> Iterator[Row]:
    from streaming import StreamingDataset  # type: ignore[import-not-found]

    dataset = StreamingDataset(local=str(folder), shuffle=False, batch_size=1)
    for number in range(len(dataset)):
        yield dataset[number]


def with_tf_data(folder: Path, shards: list[str]) -> Iterator[Row]:
    """Every feature that a record has, by TensorFlow's own protobuf."""
    import tensorflow as tf  # type: ignore[import-not-found]

    for record in tf.data.TFRecordDataset(shards):
        example = tf.train.Example.FromString(record.numpy())
        yield {
            name: feature.bytes_list.value[0] for name, feature in example.features.feature.items()
        }


def with_pyarrow(folder: Path, shards: list[str]) -> Iterator[Row]:
    import pyarrow.dataset  # type: ignore[import-not-found]

    yield from pyarrow.dataset.dataset(shards, format="parquet").to_table().to_pylist()


def hugging_face(kind: str, shards: list[str]) -> Iterator[Row]:
    """Streamed, with the stored bytes of images."""
    import datasets  # type: ignore[import-not-found]

    with tempfile.TemporaryDirectory() as cache:
        rows = datasets.load_dataset(
            kind, data_files=shards, split="train", streaming=True, cache_dir=cache
        )
        for name, feature in (rows.features or {}).items():
            if isinstance(feature, datasets.Image):
                rows = rows.cast_column(name, datasets.Image(decode=False))
        yield from rows


READERS: dict[str, Callable[[Path, list[str]], Iterator[Row]]] = {
    "webdataset": with_webdataset,
    "streaming": with_streaming,
    "tf.data": with_tf_data,
    "pyarrow": with_pyarrow,
    "datasets, parquet": lambda _, shards: hugging_face("parquet", shards),
    "datasets, webdataset": lambda _, shards: hugging_face("webdataset", shards),
}


def main() -> None:
    read, root = READERS[sys.argv[1]], Path(sys.argv[2])
    seen = {}
    for layout in sorted(root.iterdir()):
        splits = {}
        for folder in sorted({shard.parent for shard in layout.rglob("shard-*")}):
            split = "" if folder.name == "shards" else folder.name
            shards = sorted(str(shard) for shard in folder.glob("shard-*"))
            splits[split] = [noted(row) for row in read(folder, shards)]
        seen[layout.name] = splits
    print("saw " + json.dumps(seen))


if __name__ == "__main__":
    main()
