"""Reads shards with the data loaders of frameworks and prints what they saw as JSON.

Usage: framework_readers.py READER FOLDER

Each is run by the Python of an environment with its framework: see framework-readers.test.ts.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

Seen = dict[str, dict[str, str]]


def sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


class Book:
    """Key to SHA-256 of the image and to the label; a key that is seen twice is an error."""

    def __init__(self) -> None:
        self.images: dict[str, str] = {}
        self.labels: dict[str, str] = {}

    def note(self, key: str, image: bytes, label: object) -> None:
        if key in self.images:
            raise ValueError(f"{key!r} is there twice")
        self.images[key] = sha256(image)
        self.labels[key] = str(label)

    def seen(self) -> Seen:
        return {"images": self.images, "labels": self.labels}


def shards(folder: Path) -> list[str]:
    return [str(shard) for shard in sorted(folder.glob("shards/shard-*"))]


def tf_data(folder: Path) -> Seen:
    """tf.data over several files at once, parsed by TensorFlow's own protobuf."""
    import tensorflow as tf  # type: ignore[import-not-found]

    files = shards(folder)
    compression = "GZIP" if files[0].endswith(".gz") else None
    features = {
        "__key__": tf.io.FixedLenFeature([], tf.string),
        "image": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }
    dataset = tf.data.TFRecordDataset(files, compression_type=compression, num_parallel_reads=4)
    book = Book()
    for example in dataset.map(lambda one: tf.io.parse_single_example(one, features)):
        key = example["__key__"].numpy().decode()
        book.note(key, example["image"].numpy(), int(example["label"].numpy()))
    return book.seen()


def ray_webdataset(folder: Path) -> Seen:
    import ray.data  # type: ignore[import-not-found]

    book = Book()
    for row in ray.data.read_webdataset(shards(folder), decoder=None).iter_rows():
        label = row["cls"].decode() if "cls" in row else ""
        book.note(row["__key__"], row["jpg"], label)
    return book.seen()


def ray_tfrecords(folder: Path) -> Seen:
    import ray.data

    files = shards(folder)
    options = (
        {"arrow_open_stream_args": {"compression": "gzip"}} if files[0].endswith(".gz") else {}
    )
    book = Book()
    for row in ray.data.read_tfrecords(files, **options).iter_rows():
        book.note(bytes(row["__key__"]).decode(), bytes(row["image"]), int(row["label"]))
    return book.seen()


def dali_batches(outputs: Callable[[], tuple[object, ...]], samples: int) -> Iterator[list[bytes]]:
    """One sample a batch, on the CPU: each output's bytes."""
    from nvidia.dali import pipeline_def  # type: ignore[import-not-found]

    pipe = pipeline_def(outputs, batch_size=1, num_threads=1, device_id=None)()
    pipe.build()
    for _ in range(samples):
        yield [bytes(one.as_array()[0].tobytes()) for one in pipe.run()]


def dali_webdataset(folder: Path) -> Seen:
    """By the index beside the shards; DALI tells no names, so samples are numbered in its order."""
    from nvidia.dali import fn

    book = Book()
    for shard in shards(folder):
        index = folder / "index" / f"{Path(shard).stem}.idx"
        samples = int(index.read_text().split("\n")[0].split(" ")[1])

        def outputs(shard: str = shard, index: Path = index) -> tuple[object, ...]:
            ext = ["jpg", "cls"]
            return tuple(fn.readers.webdataset(paths=[shard], index_paths=[str(index)], ext=ext))

        for number, (image, label) in enumerate(dali_batches(outputs, samples)):
            book.note(f"{Path(shard).name}#{number}", image, label.decode())
    return book.seen()


def dali_recordio(folder: Path) -> Seen:
    """By MXNet's index; numbered likewise."""
    import numpy
    from nvidia.dali import fn

    book = Book()
    for shard in shards(folder):
        index = folder / "index" / f"{Path(shard).stem}.idx"
        samples = len(index.read_text().splitlines())

        def outputs(shard: str = shard, index: Path = index) -> tuple[object, ...]:
            return tuple(fn.readers.mxnet(path=[shard], index_path=[str(index)]))

        for number, (image, label) in enumerate(dali_batches(outputs, samples)):
            value = numpy.frombuffer(label, numpy.float32)[0]
            book.note(f"{Path(shard).name}#{number}", image, int(value))
    return book.seen()


READERS: dict[str, Callable[[Path], Seen]] = {
    "tf.data": tf_data,
    "ray-webdataset": ray_webdataset,
    "ray-tfrecords": ray_tfrecords,
    "dali-webdataset": dali_webdataset,
    "dali-recordio": dali_recordio,
}

if __name__ == "__main__":
    print(json.dumps(READERS[sys.argv[1]](Path(sys.argv[2]))))
