"""Readers of SageMaker's Pipes, for scripts under `inputMode: Pipe`.

from tidewheel import pipes
for epoch in range(3):
    with pipes.open_epoch("train", epoch) as stream:
        for sample in pipes.tar_samples(stream):  # or tfrecords, recordio; a text file's lines
            train(sample["jpg"], sample["cls"])

A FIFO carries all shards of a channel in a row. Readers of files do not fit: they seek, or take the
end of the first shard for the end of the data.
"""

from __future__ import annotations

import gzip
import json
import os
import struct
import tarfile
import time
from collections.abc import Iterator
from io import BufferedIOBase, BufferedReader, FileIO
from pathlib import Path

from tidewheel_contract.tfrecord import FOOT_BYTES, HEAD_BYTES, is_whole, length_of

__all__ = ["lines", "open_epoch", "recordio", "tar_samples", "tfrecords"]

_OPEN_SECONDS = 300.0
_GZIP = b"\x1f\x8b"
_RECORDIO = struct.pack("<I", 0xCED7230A)


def open_epoch(channel: str = "train", epoch: int = 0) -> BufferedIOBase:
    """The stream of an epoch, which `with` closes. gzip's shards come as they were before.

    Waits up to 5 minutes for SageMaker to make the FIFO. A FIFO has one reader: with several
    processes on a host each has a channel of its own, `train`, `train-1` and so on.
    """
    channels = json.loads(os.environ.get("SM_INPUT_DATA_CONFIG") or "{}")
    if channels and channel not in channels:
        raise ValueError(f"there is no channel {channel}: choose one of {', '.join(channels)}")
    path = Path(os.environ["SM_INPUT_DIR"]) / "data" / f"{channel}_{epoch}"
    deadline = time.monotonic() + _OPEN_SECONDS
    while not path.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"{path} did not appear within {_OPEN_SECONDS:g} s: is inputMode Pipe?"
            )
        time.sleep(0.02)
    stream = BufferedReader(FileIO(path), 1 << 20)
    return gzip.GzipFile(fileobj=stream) if stream.peek(2)[:2] == _GZIP else stream


def tar_samples(stream: BufferedIOBase) -> Iterator[dict[str, bytes]]:
    """WebDataset's samples: the members of one stem by suffix, and the stem as `__key__`."""
    sample: dict[str, bytes] = {}
    # Each shard ends with zeros, which a reader of one file takes for the end.
    with tarfile.open(fileobj=stream, mode="r|", ignore_zeros=True) as archive:
        for member in archive:
            body = archive.extractfile(member)
            if body is None:
                continue
            folder, slash, name = member.name.rpartition("/")
            stem, _, suffix = name.partition(".")
            key = f"{folder}{slash}{stem}".encode()
            if sample and (sample["__key__"] != key or suffix in sample):
                yield sample
                sample = {}
            sample |= {"__key__": key, suffix: body.read()}
    if sample:
        yield sample


def lines(stream: BufferedIOBase) -> Iterator[bytes]:
    """Lines of text without their ends."""
    for line in stream:
        yield line.rstrip(b"\r\n")


def tfrecords(stream: BufferedIOBase, *, check_content: bool = False) -> Iterator[bytes]:
    """The content of each record: `tf.train.Example.FromString` or another parser reads it.

    Always checks where records begin. `check_content` also takes Python a second for some 10 MB.
    """
    place = 0
    while head := stream.read(HEAD_BYTES):
        length = length_of(head)
        if length is None:
            raise ValueError(f"no TFRecord begins at byte {place} of the Pipe: pack it again")
        content, foot = _exactly(stream, length), _exactly(stream, FOOT_BYTES)
        if check_content and not is_whole(content, foot):
            raise ValueError(f"the TFRecord at byte {place} of the Pipe is damaged: pack it again")
        yield content
        place += HEAD_BYTES + length + FOOT_BYTES


def recordio(stream: BufferedIOBase) -> Iterator[bytes]:
    """The content of each record. MXNet's images have a header of 24 bytes: `record[24:]` is the
    image, and `struct.unpack("<f", record[4:8])` its label."""
    whole, place = b"", 0
    while head := stream.read(8):
        if head[:4] != _RECORDIO or len(head) < 8:
            raise ValueError(f"no RecordIO begins at byte {place} of the Pipe: pack it again")
        (coded,) = struct.unpack("<I", head[4:])
        flag, length = coded >> 29, coded & (1 << 29) - 1
        body = _exactly(stream, length + -length % 4)[:length]
        # A record is split where the magic number lies in its data.
        whole += _RECORDIO + body if flag in (2, 3) else body
        if flag in (0, 3):
            yield whole
            whole = b""
        place += 8 + length + -length % 4
    if whole:
        raise ValueError("the Pipe ends within a record: pack it again")


def _exactly(stream: BufferedIOBase, length: int) -> bytes:
    found = stream.read(length)
    if len(found) != length:
        raise ValueError(f"the Pipe ends {length - len(found)} bytes early: pack it again")
    return found
