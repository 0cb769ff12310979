"""Readers of tables and records: tf.data, Ray Data, Hugging Face datasets."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from book import Book, main, shards
from pipe import piped


def is_gzipped(folder: Path) -> bool:
    return shards(folder)[0].endswith(".gz")


def parsed_records(dataset: Any, book: Book) -> None:
    """Examples by TensorFlow's own protobuf."""
    import tensorflow as tf  # type: ignore[import-not-found]

    features = {
        "__key__": tf.io.FixedLenFeature([], tf.string),
        "image": tf.io.FixedLenFeature([], tf.string),
        "json": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }
    for row in dataset.map(lambda one: tf.io.parse_single_example(one, features)):
        name, image, text = (row[column].numpy() for column in ("__key__", "image", "json"))
        book.note(name.decode(), image=image, text=text, label=int(row["label"].numpy()))


def with_tf_data(folder: Path, book: Book) -> None:
    """tf.data over several files at once."""
    import tensorflow as tf

    compression = "GZIP" if is_gzipped(folder) else None
    files = shards(folder)
    parsed_records(tf.data.TFRecordDataset(files, compression, num_parallel_reads=4), book)


def line(text: bytes, book: Book) -> None:
    book.note(str(json.loads(text)["id"]), text=text)


def with_tf_lines(folder: Path, book: Book) -> None:
    import tensorflow as tf

    for row in tf.data.TextLineDataset(shards(folder)):
        line(row.numpy(), book)


def with_tf_data_piped(folder: Path, book: Book) -> None:
    """tf.data opens SageMaker's Pipe as a file."""
    import tensorflow as tf

    with piped(shards(folder)) as (epoch, *_):
        parsed_records(tf.data.TFRecordDataset(epoch), book)


def with_ray_webdataset(folder: Path, book: Book) -> None:
    import ray.data  # type: ignore[import-not-found]

    for row in ray.data.read_webdataset(shards(folder), decoder=None).iter_rows():
        label = row["cls"].decode()
        book.note(row["__key__"], image=row["png"], text=row["json"], label=label)


def with_ray_tfrecords(folder: Path, book: Book) -> None:
    import ray.data

    gzip = {"arrow_open_stream_args": {"compression": "gzip"}} if is_gzipped(folder) else {}
    for row in ray.data.read_tfrecords(shards(folder), **gzip).iter_rows():
        name, image, text = (bytes(row[column]) for column in ("__key__", "image", "json"))
        book.note(name.decode(), image=image, text=text, label=int(row["label"]))


def row_of_table(row: dict[str, Any], book: Book, *, pixels: bytes | None = None) -> None:
    """A row of Parquet."""
    image = row["image"] if pixels is None else None
    text = row["json"].encode()
    book.note(row["__key__"], image=image, pixels=pixels, text=text, label=row["label"])


def with_ray_parquet(folder: Path, book: Book) -> None:
    import ray.data

    for row in ray.data.read_parquet(shards(folder)).iter_rows():
        row_of_table(row, book)


def with_pyarrow(folder: Path, book: Book) -> None:
    import pyarrow.parquet  # type: ignore[import-not-found]

    for shard in shards(folder):
        file = pyarrow.parquet.ParquetFile(shard)
        for group in range(file.num_row_groups):
            for row in file.read_row_group(group).to_pylist():
                row_of_table(row, book)


def with_ray_lines(folder: Path, book: Book) -> None:
    import ray.data

    for row in ray.data.read_json(shards(folder), lines=True).iter_rows():
        plain = {key: list(value) if key == "boxes" else value for key, value in row.items()}
        plain["boxes"] = [int(number) for number in plain["boxes"]]
        book.note(str(row["id"]), parsed=plain)


def hugging_face(kind: str, folder: Path, files: list[str], streaming: bool) -> Any:
    import datasets  # type: ignore[import-not-found]

    return datasets.load_dataset(
        kind, data_files=files, split="train", streaming=streaming, cache_dir=str(folder)
    )


def with_datasets_webdataset(folder: Path, book: Book) -> None:
    """Streamed, with the stored bytes of the images."""
    import datasets

    with tempfile.TemporaryDirectory() as cache:
        rows = hugging_face("webdataset", Path(cache), shards(folder), streaming=True)
        for row in rows.cast_column("png", datasets.Image(decode=False)):
            image = row["png"]["bytes"]
            book.note(row["__key__"], image=image, parsed=row["json"], label=row["cls"])


def with_datasets_parquet(folder: Path, book: Book) -> None:
    """As a table on disk, with the images decoded."""
    import datasets

    with tempfile.TemporaryDirectory() as cache:
        rows = hugging_face("parquet", Path(cache), shards(folder), streaming=False)
        for row in rows.cast_column("image", datasets.Image()):
            row_of_table(row, book, pixels=row["image"].convert("RGB").tobytes())


def with_datasets_lines(folder: Path, book: Book) -> None:
    """As a table on disk."""
    with tempfile.TemporaryDirectory() as cache:
        for row in hugging_face("json", Path(cache), shards(folder), streaming=False):
            book.note(str(row["id"]), parsed=row)


if __name__ == "__main__":
    main(
        {
            "tf.data": ("tensorflow-cpu", with_tf_data),
            "tf.data, lines": ("tensorflow-cpu", with_tf_lines),
            "tf.data, Pipe": ("tensorflow-cpu", with_tf_data_piped),
            "Ray Data, webdataset": ("ray", with_ray_webdataset),
            "Ray Data, tfrecord": ("ray", with_ray_tfrecords),
            "Ray Data, parquet": ("ray", with_ray_parquet),
            "pyarrow": ("pyarrow", with_pyarrow),
            "datasets, parquet": ("datasets", with_datasets_parquet),
            "Ray Data, lines": ("ray", with_ray_lines),
            "datasets, webdataset": ("datasets", with_datasets_webdataset),
            "datasets, lines": ("datasets", with_datasets_lines),
        }
    )
