"""Readers of SageMaker's Pipes: the standard library's, with the parsers of the frameworks.

A Pipe carries all shards in a row, so a reader of files does not fit: it seeks, or it takes the end
of the first shard for the end of the data.
"""

from __future__ import annotations

import gzip
import json
import struct
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from book import Book, main, shards
from pipe import piped


def exactly(stream: IO[bytes], length: int) -> bytes:
    found = stream.read(length)
    if len(found) != length:
        raise ValueError(f"the Pipe ends {length - len(found)} bytes early")
    return found


def tar_members(stream: IO[bytes]) -> Iterator[dict[str, Any]]:
    """Of all tars in a row: the zeros at the end of each are passed over."""
    with tarfile.open(fileobj=stream, mode="r|", ignore_zeros=True) as archive:
        for member in archive:
            body = archive.extractfile(member)
            if body is not None:
                yield {"fname": member.name, "data": body.read(), "__url__": stream.name}


def with_tar(folder: Path, book: Book) -> None:
    """Grouped into samples by webdataset."""
    from webdataset.tariterators import group_by_keys  # type: ignore[import-not-found]

    with piped(shards(folder)) as epochs:
        for epoch in epochs:
            book.begin()
            with Path(epoch).open("rb") as stream:
                for row in group_by_keys(tar_members(stream)):
                    label = row["cls"].decode()
                    book.note(row["__key__"], image=row["png"], text=row["json"], label=label)


def with_tfrecord(folder: Path, book: Book) -> None:
    """Examples by TensorFlow's own protobuf. gzip's files in a row are one gzip stream."""
    import tensorflow as tf  # type: ignore[import-not-found]

    is_gzipped = shards(folder)[0].endswith(".gz")
    with piped(shards(folder)) as epochs:
        for epoch in epochs:
            book.begin()
            with gzip.open(epoch) if is_gzipped else Path(epoch).open("rb") as stream:
                while head := stream.read(12):
                    record = exactly(stream, struct.unpack("<Q", head[:8])[0])
                    exactly(stream, 4)
                    row = tf.train.Example.FromString(record).features.feature
                    name, image, text = (
                        row[column].bytes_list.value[0] for column in ("__key__", "image", "json")
                    )
                    label = row["label"].int64_list.value[0]
                    book.note(name.decode(), image=image, text=text, label=label)


def with_lines(folder: Path, book: Book) -> None:
    with piped(shards(folder)) as epochs:
        for epoch in epochs:
            book.begin()
            with Path(epoch).open("rb") as stream:
                for line in stream:
                    text = line.rstrip(b"\n")
                    book.note(str(json.loads(text)["id"]), text=text)


MAGIC = struct.pack("<I", 0xCED7230A)


def records(stream: IO[bytes]) -> Iterator[bytes]:
    """Of RecordIO. A record is split where the magic number lies in its data."""
    whole = b""
    while head := stream.read(8):
        magic, coded = head[:4], struct.unpack("<I", head[4:])[0]
        if magic != MAGIC:
            raise ValueError("the Pipe holds no RecordIO")
        flag, length = coded >> 29, coded & (1 << 29) - 1
        body = exactly(stream, length)
        exactly(stream, -length % 4)
        whole += MAGIC + body if flag in {2, 3} else body
        if flag in {0, 3}:
            yield whole
            whole = b""


def with_recordio(folder: Path, book: Book) -> None:
    """Images with MXNet's header of 24 bytes. It has no names: the index beside says how many."""
    names = [
        f"{Path(shard).name}#{place}"
        for shard in shards(folder)
        for place, _ in enumerate((folder / "index" / f"{Path(shard).stem}.idx").open())
    ]
    with piped(shards(folder)) as epochs:
        for epoch in epochs:
            book.begin()
            with Path(epoch).open("rb") as stream:
                for name, record in zip(names, records(stream), strict=True):
                    label = struct.unpack("<f", record[4:8])[0]
                    book.note(name, image=record[24:], label=int(label))


if __name__ == "__main__":
    main(
        {
            "tar": ("webdataset", with_tar),
            "tfrecord": ("tensorflow-cpu", with_tfrecord),
            "lines": ("", with_lines),
            "recordio": ("", with_recordio),
        }
    )
