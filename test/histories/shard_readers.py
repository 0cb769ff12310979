"""Readers of shards that share nothing with the service.

Python's own tarfile reads tars, and a few lines the other formats.
"""

import base64
import io
import json
import re
import struct
import tarfile
from collections import Counter
from collections.abc import Iterable

from parquet_rows import parquet_rows

Held = Counter[tuple[str, str, str]]  # split, key and body


def tar_members(shard: bytes) -> Iterable[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(shard)) as tar:
        for member in tar:
            body = tar.extractfile(member)
            yield member.name, body.read() if body else b""


def fields(message: bytes) -> Iterable[tuple[int, bytes]]:
    """The length-delimited fields of a protocol buffer, which is all that these have."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag, size = varint(), varint()
        yield tag >> 3, message[at : at + size]
        at += size


def tfrecord_members(shard: bytes) -> Iterable[tuple[str, bytes]]:
    at = 0
    while at < len(shard):
        (size,) = struct.unpack_from("<Q", shard, at)
        ((_, features),) = fields(shard[at + 12 : at + 12 + size])
        at += 16 + size
        row = {}
        for _, entry in fields(features):
            name, feature = (value for _, value in fields(entry))
            ((_, values),) = fields(feature)
            ((_, value),) = fields(values)
            row[name.decode()] = value
        yield from named(row)


def mds_members(shard: bytes) -> Iterable[tuple[str, bytes]]:
    (count,) = struct.unpack_from("<I", shard)
    offsets = struct.unpack_from(f"<{count + 1}I", shard, 4)
    config = json.loads(shard[4 + 4 * (count + 1) : offsets[0]])
    names = config["column_names"]
    for begin in offsets[:-1]:
        sizes = struct.unpack_from(f"<{len(names)}I", shard, begin)
        at = begin + 4 * len(names)
        row = {}
        for name, size in zip(names, sizes, strict=True):
            row[name] = shard[at : at + size]
            at += size
        yield from named(row)


def parquet_members(shard: bytes) -> Iterable[tuple[str, bytes]]:
    for row in parquet_rows(shard):
        yield from named(row)


def named(row: dict[str, bytes]) -> Iterable[tuple[str, bytes]]:
    """A row of columns as the members that it was made of."""
    stem = row.pop("__key__").decode()
    suffixes = {"image": "jpg", "label": "cls"}
    for column, value in row.items():
        yield f"{stem}.{suffixes.get(column, column)}", value


READERS = {
    "webdataset": tar_members,
    "tfrecord": tfrecord_members,
    "mds": mds_members,
    "parquet": parquet_members,
}


def read(form: str, shards: Iterable[tuple[str, str, str]]) -> dict[str, Held]:
    """What each shard holds. By generation and name."""
    found: dict[str, Held] = {}
    for shard, packed, generation in shards:
        # A shard of a split lies in the split's folder.
        part = shard.rpartition("/")[0]
        held = found[f"{generation}/{shard}"] = Counter()
        for member, body in READERS[form](base64.b64decode(packed)):
            # Samples of one name, in one bucket or in one shard, and copies of a sample.
            name = re.sub("~([0-9a-f]{24}|c[0-9]+c*|again[0-9]*)", "", member)
            held[(part, name, body.decode())] += 1
    return found


def uneven(shards: dict[str, Held]) -> list[str]:
    """Folders of shards that have unequal numbers of samples."""
    counts: dict[str, set[int]] = {}
    for name, held in shards.items():
        samples = sum(count for (_, key, _), count in held.items() if key.endswith(".cls"))
        counts.setdefault(name.rpartition("/")[0], set()).add(samples)
    return [folder for folder, some in counts.items() if len(some) > 1]


def unbalanced(shards: dict[str, Held], step: dict[str, list[str]]) -> list[str]:
    """Folders to train on where classes have unequal numbers of samples.

    A run packed all of its plan, or a compaction left samples out. Others join what is balanced.
    """
    classes: dict[str, Counter[str]] = {}
    for name, held in shards.items():
        folder = name.rpartition("/")[0]
        generation, _, split = folder.partition("/")
        is_run = re.search(r"-\d{6}$", generation) and generation not in step["incomplete"]
        if not (is_run or generation in step["thinned"]) or split not in ("", "train"):
            continue
        for (_, key, label), count in held.items():
            if key.endswith(".cls"):
                classes.setdefault(folder, Counter())[label] += count
    return [folder for folder, some in classes.items() if len(set(some.values())) > 1]
