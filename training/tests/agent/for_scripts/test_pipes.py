"""Streams that other programs write, read from a FIFO as SageMaker's Pipes come."""

from __future__ import annotations

import base64
import os
import subprocess
import threading
from collections.abc import Callable, Iterable
from io import BufferedIOBase
from pathlib import Path
from typing import TypeVar

import pytest

from tidewheel import pipes

T = TypeVar("T")
Feed = Callable[[bytes], None]
TFRECORDS = base64.b64decode(
    "BQAAAAAAAADqsgQ+Zmlyc3RV/yPlAAAAAAAAAAApA5gH2OqCog8AAAAAAAAAbVMrCXRoaXJkdGhpcmR0aGlyZGeXzvM="
)
"""Written by TensorFlow 2.21: `first`, nothing, and `third` three times."""
GZIPPED = base64.b64decode(
    "H4sIAAAAAAAAA2NlgIBXm1js0jKLiktC/ys/hYoxaDLPYL/xqmkRP5SfG6zNWZKRWZSCINKnn/sMAIqfEWBEAAAA"
)
RECORDIO = base64.b64decode(
    "CiPXzh0AAAAAAAAAAADgQAEAAAAAAAAAAAAAAAAAAABmaXJzdAAAAAoj184EAAAgYWJjZAoj184SAABgZWZnaGlqCiPX"
    "awoj184KI9fOAAAKI9fOAAAAAA=="
)
"""By MXNet 1.9.1: an image `first` of label 7, a record with the magic number, and nothing."""
MAGIC = bytes.fromhex("0a23d7ce")


@pytest.fixture
def feed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Feed:
    """Writes into the FIFO of epoch 0."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("SM_INPUT_DIR", str(tmp_path))
    fifo = tmp_path / "data" / "train_0"
    os.mkfifo(fifo)
    return lambda content: threading.Thread(target=fifo.write_bytes, args=(content,)).start()


def read(reader: Callable[[BufferedIOBase], Iterable[T]]) -> list[T]:
    with pipes.open_epoch() as stream:
        return list(reader(stream))


@pytest.mark.parametrize("content", [TFRECORDS, GZIPPED])
def test_tensorflows_records_come_back(feed: Feed, content: bytes) -> None:
    feed(content * 2)
    found = read(lambda stream: pipes.tfrecords(stream, check_content=True))
    assert found == [b"first", b"", b"third" * 3] * 2


def test_mxnets_records_come_back(feed: Feed) -> None:
    feed(RECORDIO * 2)
    first, split, empty, *again = read(pipes.recordio)
    assert first[24:] == b"first"
    assert split == b"abcd" + MAGIC + b"efghij" + MAGIC[:3] + b"k" + MAGIC * 2
    assert empty == b""
    assert again == [first, split, empty]


def test_samples_of_tars_in_a_row_come_back(feed: Feed, tmp_path: Path) -> None:
    content = b""
    for shard in range(2):
        folder = tmp_path / str(shard)
        (folder / "a.b").mkdir(parents=True)
        for name in ("one.cls", "one.seg.png", "two.cls"):
            (folder / "a.b" / name).write_text(f"{shard} {name}")
        members = ["a.b/one.cls", "a.b/one.seg.png", "a.b/two.cls"]
        content += subprocess.check_output(["tar", "-c", "-C", folder, *members])
    feed(content)
    assert read(pipes.tar_samples) == [
        sample
        for shard in (b"0", b"1")
        for sample in (
            {"__key__": b"a.b/one", "cls": shard + b" one.cls", "seg.png": shard + b" one.seg.png"},
            {"__key__": b"a.b/two", "cls": shard + b" two.cls"},
        )
    ]


def test_lines_come_without_their_ends(feed: Feed) -> None:
    feed(b"a\r\nb\n\nlast")
    assert read(pipes.lines) == [b"a", b"b", b"", b"last"]


@pytest.mark.parametrize(
    ("reader", "content", "message"),
    [
        (pipes.tfrecords, TFRECORDS[:-3], "ends 3 bytes early"),
        (pipes.tfrecords, TFRECORDS[:21] + b"\1" + TFRECORDS[22:], "begins at byte 21"),
        (pipes.recordio, RECORDIO[:-12], "ends 4 bytes early"),
        (pipes.recordio, RECORDIO[:52], "within a record"),
        (pipes.recordio, TFRECORDS, "no RecordIO begins at byte 0"),
    ],
)
def test_a_damaged_stream_says_where(
    feed: Feed, reader: Callable[[BufferedIOBase], Iterable[bytes]], content: bytes, message: str
) -> None:
    feed(content)
    with pytest.raises(ValueError, match=message):
        read(reader)


def test_damaged_content_is_found_where_it_is_checked(feed: Feed) -> None:
    feed(TFRECORDS.replace(b"first", b"fIrst"))
    with pytest.raises(ValueError, match="at byte 0 of the Pipe is damaged"):
        read(lambda stream: pipes.tfrecords(stream, check_content=True))


def test_an_unknown_channel_is_named(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SM_INPUT_DATA_CONFIG", '{"training": {}}')
    with pytest.raises(ValueError, match="no channel train: choose one of training"):
        read(pipes.lines)
