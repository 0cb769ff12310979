"""What each version of a dataset must hold, said by a model that shares nothing with the service.

Reads one history a line: its steps, and after each of them the shards of the newest version as
they lie in the bucket. Python's own tarfile reads tars, and a few lines the other formats. Prints
every difference.

Of a key that came in bundles and as an object, the newest counts. Where deletions are kept, an
older one that a deletion uncovers is no news: the dataset has what followed it. What runs delete
themselves (`whenDone: delete`) is no deletion by the owner, and everything that it takes away is
in the dataset.
"""

import base64
import hashlib
import io
import json
import re
import struct
import sys
import tarfile
from collections import Counter
from collections.abc import Iterable
from typing import Any

from parquet_rows import parquet_rows

Objects = dict[str, tuple[str, str]]  # body and ETag by key
Version = tuple[int, str, str]  # number of the step, body and ETag
Held = Counter[tuple[str, str, str]]  # split, key and body


def md5(body: str) -> str:
    return hashlib.md5(body.encode()).hexdigest()


def stem_of(key: str) -> str:
    return key.rpartition(".")[0]


class Model:
    """The bucket's owner, and what training is to see."""

    def __init__(self, require: list[str], split: dict[str, Any] | None, on_delete: str) -> None:
        self.split = split
        self.retracts = on_delete == "retract"
        self.suffixes = {{"image": "jpg"}.get(column, column) for column in require}
        self.plain: dict[str, Version] = {}
        self.bundles: list[tuple[int, dict[str, str]]] = []  # number of the step, and files
        self.sealed: dict[str, tuple[int, str]] = {}  # what a run took last: step and ETag
        self.samples: list[Objects] = []
        self.version: list[Objects] = []
        self.retracted: set[tuple[str, str]] = set()  # key and ETag
        self.packed: dict[str, tuple[Version, str]] = {}  # by the last run, and the packed ETag
        self.taken: set[tuple[str, str]] = set()  # by runs that delete: key and packed ETag
        self.cleans = False  # some run has
        self.wrong: list[str] = []
        self.same: dict[tuple[str, str], str] = {}  # the ETag of the packed object with these bytes

    def take(self, number: int, step: dict[str, Any]) -> None:
        kind, key, body = step["kind"], step.get("key", ""), step.get("body", "")
        if kind == "put":
            self.plain[key] = (number, body, step.get("etag") or md5(body))
        elif kind == "bundle":
            self.bundles = [one for one in self.bundles if one[1] != step["files"]]
            self.bundles.append((number, step["files"]))
        elif kind == "delete":
            self.plain.pop(key, None)
        elif kind == "retract":
            self.retract(key)
        elif kind == "declare":
            self.retracts = step["onDelete"] == "retract"
        elif kind == "clean":
            self.clean(step["cleaned"])
        elif kind == "run":
            self.run()
        # A dataset has a sample: the version before stays where none is left.
        self.version = self.samples or self.version

    def clean(self, cleaned: dict[str, Any]) -> None:
        """A run has deleted what it packed, or only some of it."""
        done = {key for key, one in self.plain.items() if self.was_packed(key, one[2])}
        gone = self.plain.keys() - set(cleaned["objects"])
        self.wrong += [f"{key} was deleted but not packed" for key in gone - done]
        if cleaned["isWhole"]:
            self.wrong += [f"{key} was packed but not deleted" for key in done - gone]
        for bundle in self.bundles:
            if bundle[1] not in cleaned["bundles"]:
                self.wrong += [f"{key} was lost with its bundle" for key in self.lost(bundle[1])]
                self.taken.update((key, md5(body)) for key, body in bundle[1].items())
        for key in gone:
            del self.plain[key]
        self.bundles = [one for one in self.bundles if one[1] in cleaned["bundles"]]
        if cleaned["isBegun"]:
            self.cleans = True
            self.taken.update((key, etag) for key, (_, etag) in self.packed.items())

    def was_packed(self, key: str, etag: str) -> bool:
        """By the last run, as an object of its own."""
        version, _ = self.packed.get(key, ((0, "", ""), ""))
        return version[2] == etag and version[0] not in {number for number, _ in self.bundles}

    def lost(self, files: dict[str, str]) -> list[str]:
        """What a bundle held, and neither the dataset nor a newer version does."""
        bundled = self.bundled()
        held = {key: one for old in self.samples for key, one in old.items()}
        return [
            key
            for key in files
            if not (key in held and held[key][0] == bundled[key][1])
            and self.sealed.get(key, (0, ""))[0] <= bundled[key][0]
        ]

    def bundled(self) -> dict[str, Version]:
        return {
            key: (number, body, md5(body))
            for number, files in self.bundles
            for key, body in files.items()
        }

    def incoming(self) -> dict[str, Version]:
        newest = self.bundled()
        for key, version in self.plain.items():
            newest[key] = max(version, newest.get(key, version))
        return newest

    def is_removed(self, sample: Objects, incoming: dict[str, Version]) -> bool:
        return any(
            key not in incoming and (key, etag) not in self.taken
            for key, (_, etag) in sample.items()
        )

    def is_news(self, key: str, version: Version) -> bool:
        number, etag = self.sealed.get(key, (0, ""))
        return version[0] >= number or self.same.get((key, version[2]), version[2]) == etag

    def listed(self, incoming: dict[str, Version]) -> Iterable[Objects]:
        """What a run may pack, by sample."""
        takes_all = self.retracts and not self.cleans
        samples: dict[str, Objects] = {}
        for key, version in incoming.items():
            _, body, etag = version
            if not takes_all and not self.is_news(key, version):
                continue
            if (key, self.same.get((key, etag), etag)) not in self.retracted:
                samples.setdefault(stem_of(key), {})[key] = (body, etag)
        return samples.values()

    def run(self) -> None:
        incoming = self.incoming()
        self.packed = {}
        listed = self.listed(incoming)
        if self.retracts:
            gone = [one for one in self.samples if self.is_removed(one, incoming)]
            self.samples = [one for one in self.samples if one not in gone]
        for sample in listed:
            # It waits for the rest.
            if not self.suffixes <= {key.rpartition(".")[2] for key in sample}:
                continue
            self.pack(sample, incoming)
            for key, (_, etag) in sample.items():
                self.sealed[key] = (incoming[key][0], self.same.get((key, etag), etag))

    def pack(self, sample: Objects, incoming: dict[str, Version]) -> None:
        olds = [old for old in self.samples if old.keys() & sample.keys()]
        # The same bytes are no news, whatever their ETag.
        held = {key: found for old in olds for key, found in old.items()}
        if all(key in held and held[key][0] == body for key, (body, _) in sample.items()):
            noted = {(key, etag): held[key][1] for key, (_, etag) in sample.items()}
            if any(self.same.get(one, one[1]) != packed for one, packed in noted.items()):
                self.packed.update((key, (incoming[key], held[key][1])) for key in sample)
            self.same.update(noted)
        # A correction that lacks members of the sample replaces nothing.
        elif all(old.keys() <= sample.keys() for old in olds):
            self.samples = [one for one in self.samples if one not in olds] + [sample]
            for key, (_, etag) in sample.items():
                self.packed[key] = (incoming[key], etag)
                # What is packed now has the ETag that it came with.
                self.same.pop((key, etag), None)

    def retract(self, key: str) -> None:
        left = [sample for sample in self.samples if key not in sample]
        # A dataset has a sample.
        if left:
            for sample in self.samples:
                if key in sample:
                    self.retracted.update((each, etag) for each, (_, etag) in sample.items())
            self.samples = left

    def members(self) -> Held:
        held: Held = Counter()
        for sample in self.version:
            stem = stem_of(next(iter(sample)))
            part = split_of(stem, self.split)
            held.update((part, key, body) for key, (body, _) in sample.items())
            held[(part, f"{stem}.cls", stem.split("/")[0])] += 1
        return held


def group_of(stem: str, split: dict[str, Any]) -> str:
    return stem.split("/")[0] if split["by"] == "group" else stem


def split_of(stem: str, split: dict[str, Any] | None) -> str:
    """By the SHA-256 of the sample's name, or of its group, as a number from 0 to 1."""
    if split is None:
        return ""
    digest = hashlib.sha256(group_of(stem, split).encode()).digest()
    place = int.from_bytes(digest[:6], "big") / 2**48
    for part in ("train", "validation"):
        place -= split[part]
        if place < 0:
            return part
    return "test"


class Parts:
    """The split in which each sample or group was first seen: it has no other, ever."""

    def __init__(self, split: dict[str, Any] | None) -> None:
        self.split = split
        self.seen: dict[str, str] = {}

    def moved(self, held: Held) -> set[str]:
        if self.split is None:
            return set()
        groups = {(group_of(stem_of(key), self.split), part) for part, key, _ in held}
        return {group for group, part in groups if self.seen.setdefault(group, part) != part}


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


def read(form: str, shards: Iterable[tuple[str, str]]) -> Held:
    held: Held = Counter()
    for shard, packed in shards:
        # A shard of a split lies in the split's folder.
        part = shard.rpartition("/")[0]
        for name, body in READERS[form](base64.b64decode(packed)):
            # Two samples of one name in a shard.
            held[(part, re.sub("~c[0-9]+c*", "", name), body.decode())] += 1
    return held


def main() -> int:
    histories = differences = versions = 0
    for line in sys.stdin:
        history = json.loads(line)
        histories += 1
        split = history.get("split")
        model, parts = Model(history["require"], split, history["onDelete"]), Parts(split)
        for number, step in enumerate(history["steps"]):
            model.take(number, step)
            if model.wrong:
                differences += 1
                print(f"seed {history['seed']}, step {number} ({step['kind']}): {model.wrong}")
                model.wrong.clear()
            if "shards" not in step:
                continue
            versions += 1
            expected, found = model.members(), read(history["format"], step["shards"])
            moved = parts.moved(found)
            if expected != found or moved:
                differences += 1
                print(f"seed {history['seed']}, step {number} ({step['kind']}):")
                if moved:
                    print(f"  in two splits: {sorted(moved)}")
                print(f"  lacks {dict(expected - found)}, has besides {dict(found - expected)}")
    print(f"{histories} histories, {versions} versions, {differences} differ")
    return 1 if differences > 0 or histories == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
