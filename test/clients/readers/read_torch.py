"""Readers of PyTorch's world: webdataset, mosaicml-streaming, LitData, torchdata, tfrecord."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from book import Book, main, shards
from pipe import piped


def stored(dataset: Any, book: Book) -> None:
    """Samples of a tar as they lie in it."""
    for sample in dataset:
        label = sample["cls"].decode()
        book.note(sample["__key__"], image=sample["png"], text=sample["json"], label=label)


def with_webdataset(folder: Path, book: Book) -> None:
    import webdataset  # type: ignore[import-not-found]

    urls = [f"file:{shard}" for shard in shards(folder)]
    stored(webdataset.WebDataset(urls, shardshuffle=False), book)


def with_webdataset_decoded(folder: Path, book: Book) -> None:
    """As training reads it: decoded, by two workers of its own loader."""
    import webdataset

    urls = [f"file:{shard}" for shard in shards(folder)]
    dataset = webdataset.WebDataset(urls, shardshuffle=True).decode("rgb8")
    dataset = dataset.to_tuple("__key__", "png", "json", "cls")
    for name, image, parsed, label in webdataset.WebLoader(dataset, batch_size=None, num_workers=2):
        book.note(name, pixels=bytes(image.numpy()), parsed=parsed, label=label)


def with_webdataset_piped(folder: Path, book: Book) -> None:
    """As it comes, from SageMaker's Pipe."""
    import webdataset

    with piped(shards(folder)) as (epoch, *_):
        stored(webdataset.WebDataset([f"file:{epoch}"], shardshuffle=False), book)


def with_torchdata(folder: Path, book: Book) -> None:
    """Its StatefulDataLoader, stopped after 50 samples and resumed by its own state."""
    import webdataset
    from torchdata.stateful_dataloader import StatefulDataLoader  # type: ignore[import-not-found]

    def loader() -> Any:
        urls = [f"file:{shard}" for shard in shards(folder)]
        dataset = webdataset.WebDataset(urls, shardshuffle=False)
        return StatefulDataLoader(dataset, batch_size=None, num_workers=2)

    first = loader()
    begun: list[Any] = []
    for sample in first:
        begun.append(sample)
        if len(begun) == 50:
            break
    state = first.state_dict()
    second = loader()
    second.load_state_dict(state)
    stored(begun, book)
    stored(second, book)


def with_streaming(folder: Path, book: Book) -> None:
    """Its StreamingDataset, which decodes the columns."""
    from streaming import StreamingDataset  # type: ignore[import-not-found]

    dataset = StreamingDataset(local=str(folder), shuffle=False, batch_size=1)
    for number in range(len(dataset)):
        row = dataset[number]
        image = row["image"].convert("RGB").tobytes()
        book.note(row["__key__"], pixels=image, parsed=row["json"], label=int(row["label"]))


def with_litdata(folder: Path, book: Book) -> None:
    from litdata import StreamingDataset  # type: ignore[import-not-found]

    for row in StreamingDataset(str(folder), shuffle=False):
        image = row["image"].convert("RGB").tobytes()
        book.note(row["__key__"], pixels=image, parsed=row["json"], label=int(row["label"]))


def with_tfrecord(folder: Path, book: Book) -> None:
    from tfrecord.reader import tfrecord_loader  # type: ignore[import-not-found]

    for shard in shards(folder):
        compression = "gzip" if shard.endswith(".gz") else None
        for row in tfrecord_loader(shard, None, compression_type=compression):
            name = bytes(row["__key__"]).decode()
            image, text = bytes(row["image"]), bytes(row["json"])
            book.note(name, image=image, text=text, label=int(row["label"][0]))


if __name__ == "__main__":
    main(
        {
            "webdataset": ("webdataset", with_webdataset),
            "webdataset, decoded": ("webdataset", with_webdataset_decoded),
            "webdataset, Pipe": ("webdataset", with_webdataset_piped),
            "torchdata": ("torchdata", with_torchdata),
            "mosaicml-streaming": ("mosaicml-streaming", with_streaming),
            "litdata": ("litdata", with_litdata),
            "tfrecord": ("tfrecord", with_tfrecord),
        }
    )
