"""Readers of PyTorch's world: webdataset, mosaicml-streaming, LitData, torchdata, tfrecord."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from book import Book, channel, main, shards
from pipe import piped

RANKS = 2


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


def each_rank() -> Iterator[int]:
    """One rank after the other. webdataset reads rank and world size from the environment."""
    for rank in range(RANKS):
        os.environ.update({"RANK": str(rank), "WORLD_SIZE": str(RANKS)})
        yield rank


def webdataset_of_rank(folder: Path) -> Any:
    """Shuffled; each rank and each of its workers reads shards of its own."""
    import webdataset

    urls = [f"file:{shard}" for shard in channel(folder)]
    split = webdataset.split_by_node
    return webdataset.WebDataset(urls, shardshuffle=100, nodesplitter=split, seed=7).shuffle(30)


def with_webdataset_ranks(folder: Path, book: Book) -> None:
    import webdataset

    for _ in each_rank():
        dataset = webdataset_of_rank(folder)
        stored(webdataset.WebLoader(dataset, batch_size=None, num_workers=3), book)


def with_torchdata_ranks(folder: Path, book: Book) -> None:
    """Each rank is stopped in the middle of the epoch and resumed."""
    import webdataset
    from torchdata.stateful_dataloader import StatefulDataLoader

    def loader() -> Any:
        urls = [f"file:{shard}" for shard in channel(folder)]
        split = webdataset.split_by_node
        dataset = webdataset.WebDataset(urls, shardshuffle=100, nodesplitter=split, seed=7)
        return StatefulDataLoader(dataset.shuffle(30, seed=11), batch_size=None, num_workers=2)

    for _ in each_rank():
        first, begun = loader(), []
        for sample in first:
            begun.append(sample)
            if len(begun) == 37:
                break
        second = loader()
        second.load_state_dict(first.state_dict())
        stored(begun, book)
        stored(second, book)


def columns(rows: list[Any]) -> dict[str, list[Any]]:
    """A batch whose first value has its length, by which the loader counts."""
    return {"rows": rows}


def with_streaming_ranks(folder: Path, book: Book) -> None:
    """Two processes with workers, each stopped in the middle of the epoch and resumed."""
    import torch.multiprocessing as processes
    from streaming.base.util import clean_stale_shared_memory  # type: ignore[import-not-found]

    # A run that was killed leaves memory, for which the next one would wait.
    clean_stale_shared_memory()
    context = processes.get_context("spawn")
    answers: Any = context.SimpleQueue()
    arguments = [(rank, folder, answers) for rank in range(RANKS)]
    ranks = [context.Process(target=streaming_rank, args=args) for args in arguments]
    for rank in ranks:
        rank.start()
    for row in (row for _ in ranks for row in answers.get()):
        book.note(row["name"], pixels=row["image"], parsed=row["json"], label=row["label"])
    for rank in ranks:
        rank.join()
        if rank.exitcode != 0:
            sys.exit(f"a rank ended with {rank.exitcode}")


def streaming_rank(rank: int, folder: Path, answers: Any) -> None:
    os.environ.update({"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(RANKS)})
    os.environ.update({"LOCAL_WORLD_SIZE": str(RANKS)})
    import torch.distributed
    from streaming import Stream, StreamingDataLoader, StreamingDataset  # type: ignore[import-not-found]

    meeting = f"file://{folder}/ranks"
    torch.distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=RANKS)

    def loader() -> Any:
        indexes = sorted(folder.rglob("index.json"))
        streams = [Stream(local=str(index.parent)) for index in indexes]
        dataset = StreamingDataset(streams=streams, shuffle=True, shuffle_seed=3, batch_size=4)
        # A spawned process would spawn its workers too, and they cannot share the dataset's memory.
        options = {"num_workers": 2, "multiprocessing_context": "fork"}
        return StreamingDataLoader(dataset, batch_size=4, collate_fn=columns, **options)

    first, rows = loader(), []
    for number, batch in enumerate(first):
        rows += batch["rows"]
        if number == 11:
            break
    state = first.state_dict()
    # Two of them may not share the folder's memory.
    torch.distributed.barrier()
    del first
    second = loader()
    second.load_state_dict(state)
    for batch in second:
        rows += batch["rows"]
    answers.put([plain(row) for row in rows])
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def plain(row: dict[str, Any]) -> dict[str, Any]:
    image = row["image"].convert("RGB").tobytes()
    return {"name": row["__key__"], "image": image, "json": row["json"], "label": int(row["label"])}


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
            "webdataset, ranks": ("webdataset", with_webdataset_ranks),
            "torchdata, ranks": ("torchdata", with_torchdata_ranks),
            "streaming, ranks": ("mosaicml-streaming", with_streaming_ranks),
            "torchdata": ("torchdata", with_torchdata),
            "mosaicml-streaming": ("mosaicml-streaming", with_streaming),
            "litdata": ("litdata", with_litdata),
            "tfrecord": ("tfrecord", with_tfrecord),
        }
    )
