"""The agent's readers of SageMaker's Pipes, with TensorFlow's own parser of Examples."""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path

from book import Book, main, shards
from pipe import piped

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "training" / "agent" / "for_scripts"))
from tidewheel import pipes  # noqa: E402 (from the folder that the line before names)


def opened(folder: Path, book: Book) -> Iterator[BufferedIOBase]:
    """The stream of each epoch, as a script under the agent opens it."""
    with piped(shards(folder)) as epochs:
        os.environ["SM_INPUT_DIR"] = str(Path(epochs[0]).parent.parent)
        for number, _ in enumerate(epochs):
            book.begin()
            with pipes.open_epoch("training", number) as stream:
                yield stream


def with_tar(folder: Path, book: Book) -> None:
    for stream in opened(folder, book):
        for row in pipes.tar_samples(stream):
            key, label = row["__key__"].decode(), row["cls"].decode()
            book.note(key, image=row["png"], text=row["json"], label=label)


def with_tfrecord(folder: Path, book: Book) -> None:
    """Examples by TensorFlow's own protobuf."""
    import tensorflow as tf  # type: ignore[import-not-found]

    for stream in opened(folder, book):
        for record in pipes.tfrecords(stream):
            row = tf.train.Example.FromString(record).features.feature
            name, image, text = (
                row[column].bytes_list.value[0] for column in ("__key__", "image", "json")
            )
            label = row["label"].int64_list.value[0]
            book.note(name.decode(), image=image, text=text, label=label)


def with_lines(folder: Path, book: Book) -> None:
    for stream in opened(folder, book):
        for text in pipes.lines(stream):
            book.note(str(json.loads(text)["id"]), text=text)


def with_recordio(folder: Path, book: Book) -> None:
    """Images with MXNet's header of 24 bytes. It has no names: the index beside says how many."""
    names = [
        f"{Path(shard).name}#{place}"
        for shard in shards(folder)
        for place, _ in enumerate((folder / "index" / f"{Path(shard).stem}.idx").open())
    ]
    for stream in opened(folder, book):
        for name, record in zip(names, pipes.recordio(stream), strict=True):
            label = struct.unpack("<f", record[4:8])[0]
            book.note(name, image=record[24:], label=int(label))


if __name__ == "__main__":
    main(
        {
            "tar": ("", with_tar),
            "tfrecord": ("tensorflow-cpu", with_tfrecord),
            "lines": ("", with_lines),
            "recordio": ("", with_recordio),
        }
    )
