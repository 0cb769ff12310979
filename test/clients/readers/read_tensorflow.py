"""Readers of tables and records: tf.data, Ray Data, Hugging Face datasets."""

from __future__ import annotations

import json
import queue
import tempfile
import threading
from pathlib import Path
from typing import Any

from book import Book, channel, main, shards
from pipe import piped


def is_gzipped(folder: Path) -> bool:
    return shards(folder)[0].endswith(".gz")


def parsed(dataset: Any) -> Any:
    """Examples by TensorFlow's own protobuf."""
    import tensorflow as tf  # type: ignore[import-not-found]

    features = {
        "__key__": tf.io.FixedLenFeature([], tf.string),
        "image": tf.io.FixedLenFeature([], tf.string),
        "json": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }
    return dataset.map(lambda one: tf.io.parse_single_example(one, features))


def example(row: Any, book: Book) -> None:
    name, image, text = (row[column].numpy() for column in ("__key__", "image", "json"))
    book.note(name.decode(), image=image, text=text, label=int(row["label"].numpy()))


def parsed_records(dataset: Any, book: Book) -> None:
    for row in parsed(dataset):
        example(row, book)


def with_tf_data(folder: Path, book: Book) -> None:
    """tf.data over several files at once."""
    import tensorflow as tf

    compression = "GZIP" if is_gzipped(folder) else None
    files = shards(folder)
    parsed_records(tf.data.TFRecordDataset(files, compression, num_parallel_reads=4), book)


def with_tf_data_ranks(folder: Path, book: Book) -> None:
    """Each rank takes files of its own, several at once, and shuffles."""
    import tensorflow as tf

    for rank in range(3):
        files = tf.data.Dataset.from_tensor_slices(channel(folder)).shard(3, rank).shuffle(20)
        records = files.interleave(tf.data.TFRecordDataset, cycle_length=3, num_parallel_calls=2)
        parsed_records(records.shuffle(50), book)


def with_tf_data_resumed(folder: Path, book: Book) -> None:
    """Stopped in the middle of the epoch, with its shuffle buffer in a checkpoint."""
    import tensorflow as tf

    def rows() -> Any:
        return iter(parsed(tf.data.TFRecordDataset(channel(folder)).shuffle(40, seed=3)))

    first, second = rows(), rows()
    for _ in range(77):
        example(next(first), book)
    with tempfile.TemporaryDirectory() as kept:
        saved = tf.train.Checkpoint(rows=first).save(f"{kept}/rows")
        tf.train.Checkpoint(rows=second).restore(saved)
    for row in second:
        example(row, book)


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


def with_ray_ranks(folder: Path, book: Book) -> None:
    """The channel, split for two ranks as Ray Train does it, which read side by side."""
    import ray.data

    rows: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def read(split: Any) -> None:
        for row in split.iter_rows():
            rows.put(row)

    splits = ray.data.read_parquet(channel(folder)).streaming_split(2)
    ranks = [threading.Thread(target=read, args=(split,)) for split in splits]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    while not rows.empty():
        row_of_table(rows.get(), book)


def with_pyarrow(folder: Path, book: Book) -> None:
    import pyarrow.parquet  # type: ignore[import-not-found]

    for shard in shards(folder):
        file = pyarrow.parquet.ParquetFile(shard)
        for group in range(file.num_row_groups):
            for row in file.read_row_group(group).to_pylist():
                row_of_table(row, book)


def with_pyarrow_ranks(folder: Path, book: Book) -> None:
    """The channel as one dataset, whose row groups three ranks share."""
    import pyarrow.dataset  # type: ignore[import-not-found]

    table = pyarrow.dataset.dataset(channel(folder), format="parquet")
    groups = [group for file in table.get_fragments() for group in file.split_by_row_group()]
    for rank in range(3):
        for group in groups[rank::3]:
            for row in group.to_table().to_pylist():
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


def with_datasets_ranks(folder: Path, book: Book) -> None:
    """Two ranks, each stopped in the middle of the epoch; only the order of shards is shuffled."""
    import datasets
    from datasets.distributed import split_dataset_by_node

    files = channel(folder)
    kind = {"tar": "webdataset", "parquet": "parquet", "jsonl": "json"}[files[0].rpartition(".")[2]]

    def rows(cache: Path, rank: int) -> Any:
        found = hugging_face(kind, cache, files, streaming=True)
        if kind == "webdataset":
            found = found.cast_column("png", datasets.Image(decode=False))
        return split_dataset_by_node(found.shuffle(seed=5, buffer_size=1), rank=rank, world_size=2)

    for rank in range(2):
        with tempfile.TemporaryDirectory() as cache:
            first, begun = rows(Path(cache), rank), []
            for row in first:
                begun.append(row)
                if len(begun) == 41:
                    break
            second = rows(Path(cache), rank)
            second.load_state_dict(first.state_dict())
            for row in [*begun, *second]:
                row_of(kind, row, book)


def row_of(kind: str, row: dict[str, Any], book: Book) -> None:
    if kind == "json":
        book.note(str(row["id"]), parsed=row)
    elif kind == "parquet":
        row_of_table(row, book)
    else:
        book.note(row["__key__"], image=row["png"]["bytes"], parsed=row["json"], label=row["cls"])


if __name__ == "__main__":
    main(
        {
            "tf.data": ("tensorflow-cpu", with_tf_data),
            "tf.data, ranks": ("tensorflow-cpu", with_tf_data_ranks),
            "tf.data, resumed": ("tensorflow-cpu", with_tf_data_resumed),
            "tf.data, lines": ("tensorflow-cpu", with_tf_lines),
            "tf.data, Pipe": ("tensorflow-cpu", with_tf_data_piped),
            "Ray Data, webdataset": ("ray", with_ray_webdataset),
            "Ray Data, tfrecord": ("ray", with_ray_tfrecords),
            "Ray Data, parquet": ("ray", with_ray_parquet),
            "pyarrow, ranks": ("pyarrow", with_pyarrow_ranks),
            "datasets, ranks": ("datasets", with_datasets_ranks),
            "pyarrow": ("pyarrow", with_pyarrow),
            "datasets, parquet": ("datasets", with_datasets_parquet),
            "Ray Data, lines": ("ray", with_ray_lines),
            "Ray Data, ranks": ("ray", with_ray_ranks),
            "datasets, webdataset": ("datasets", with_datasets_webdataset),
            "datasets, lines": ("datasets", with_datasets_lines),
        }
    )
