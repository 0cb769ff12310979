"""NVIDIA DALI on the CPU, by the indexes beside the shards.

It reports no names, so samples are named by shard and place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from book import Book, main, shards


def batches(outputs: Callable[[], tuple[object, ...]], samples: int) -> Iterator[list[bytes]]:
    """One sample a batch: each output's bytes."""
    from nvidia.dali import pipeline_def  # type: ignore[import-not-found]

    pipe = pipeline_def(outputs, batch_size=1, num_threads=1, device_id=None)()
    pipe.build()
    for _ in range(samples):
        yield [bytes(one.as_array()[0].tobytes()) for one in pipe.run()]


def index_of(folder: Path, shard: str) -> Path:
    return folder / "index" / f"{Path(shard).stem}.idx"


def with_webdataset(folder: Path, book: Book) -> None:
    from nvidia.dali import fn

    for shard in shards(folder):
        index = index_of(folder, shard)
        samples = int(index.read_text().split("\n")[0].split(" ")[1])

        def outputs(shard: str = shard, index: Path = index) -> tuple[object, ...]:
            ext = ["png", "json", "cls"]
            return tuple(fn.readers.webdataset(paths=[shard], index_paths=[str(index)], ext=ext))

        for place, (image, text, label) in enumerate(batches(outputs, samples)):
            name = f"{Path(shard).name}#{place}"
            book.note(name, image=image, text=text, label=label.decode())


def with_recordio(folder: Path, book: Book) -> None:
    """As MXNet's own files."""
    import numpy
    from nvidia.dali import fn

    for shard in shards(folder):
        index = index_of(folder, shard)
        samples = len(index.read_text().splitlines())

        def outputs(shard: str = shard, index: Path = index) -> tuple[object, ...]:
            return tuple(fn.readers.mxnet(path=[shard], index_path=[str(index)]))

        for place, (image, label) in enumerate(batches(outputs, samples)):
            value = int(numpy.frombuffer(label, numpy.float32)[0])
            book.note(f"{Path(shard).name}#{place}", image=image, label=value)


def with_tfrecord(folder: Path, book: Book) -> None:
    """Its index is made by DALI's own tfrecord2idx, from the frames."""
    import subprocess
    import sys
    import tempfile

    from nvidia.dali import fn, tfrecord  # type: ignore[attr-defined]

    features = {
        "__key__": tfrecord.FixedLenFeature((), tfrecord.string, ""),
        "image": tfrecord.FixedLenFeature((), tfrecord.string, ""),
        "json": tfrecord.FixedLenFeature((), tfrecord.string, ""),
        "label": tfrecord.FixedLenFeature([1], tfrecord.int64, -1),
    }
    with tempfile.TemporaryDirectory() as indexes:
        for shard in shards(folder):
            index = Path(indexes) / f"{Path(shard).stem}.idx"
            subprocess.run(
                [Path(sys.executable).with_name("tfrecord2idx"), shard, index], check=True
            )

            def outputs(shard: str = shard, index: Path = index) -> tuple[object, ...]:
                found = fn.readers.tfrecord(
                    path=[shard], index_path=[str(index)], features=features
                )
                return tuple(found[column] for column in features)

            for name, image, text, label in batches(outputs, len(index.read_text().splitlines())):
                number = int.from_bytes(label, "little")
                book.note(name.decode(), image=image, text=text, label=number)


if __name__ == "__main__":
    main(
        {
            "DALI, webdataset": ("nvidia-dali-cuda120", with_webdataset),
            "DALI, recordio": ("nvidia-dali-cuda120", with_recordio),
            "DALI, tfrecord": ("nvidia-dali-cuda120", with_tfrecord),
        }
    )
