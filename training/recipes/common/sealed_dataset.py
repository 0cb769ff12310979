"""Random access to a sealed dataset, by key or number, over its member lists.

It needs nothing but Python for a dataset that lies in a folder, and boto3 for one in S3. A torch
loader can take it as a map-style dataset: it has a length, takes numbers, and survives being sent
to a worker process.

    from common.sealed_dataset import SealedDataset
    dataset = SealedDataset("s3://bucket/pipeline")   # or a folder with the same layout
    sample = dataset["cats/1.jpg"]                    # by the key below incoming/, or by number
    sample.members["jpg"], sample.label

docs/datasets.md describes the layout.
"""

import gzip
import hashlib
import importlib
import json
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

_SPLITS = ("train", "validation", "test")


class DatasetError(Exception):
    """The dataset is incomplete, or its bytes are not those that were sealed."""


class Store(Protocol):
    """Where the objects of a pipeline lie; keys are relative to it."""

    def names(self, prefix: str) -> list[str]:
        """The keys that begin with the prefix, sorted."""

    def read(self, key: str, offset: int = 0, length: int | None = None) -> bytes:
        """A range of an object, or all of it. Raises DatasetError if it is not there."""


class Folder:
    """A folder with the layout of the bucket, below the pipeline's name."""

    def __init__(self, root: str) -> None:
        self._root = Path(root)

    def names(self, prefix: str) -> list[str]:
        folder = self._root / prefix.rpartition("/")[0]
        files = (path for path in folder.rglob("*") if path.is_file())
        names = (path.relative_to(self._root).as_posix() for path in files)
        return sorted(name for name in names if name.startswith(prefix))

    def read(self, key: str, offset: int = 0, length: int | None = None) -> bytes:
        try:
            with (self._root / key).open("rb") as file:
                file.seek(offset)
                return file.read() if length is None else file.read(length)
        except FileNotFoundError as error:
            raise DatasetError(f"{self._root / key} is gone") from error


class _Client(Protocol):
    """What the reader uses of boto3's S3 client, which has no types."""

    exceptions: Any

    def get_paginator(self, operation: str, /) -> Any: ...  # noqa: ANN401

    def get_object(self, **request: str) -> dict[str, Any]: ...


class Bucket:
    """S3. Each process makes its own client, because a client cannot be sent to another one."""

    def __init__(self, bucket: str, prefix: str) -> None:
        self._bucket, self._prefix = bucket, prefix
        self._client: _Client | None = None

    def __getstate__(self) -> dict[str, object]:
        return {"_bucket": self._bucket, "_prefix": self._prefix, "_client": None}

    def _s3(self) -> _Client:
        if self._client is None:
            # Not every image has boto3, and it has no types.
            client: _Client = importlib.import_module("boto3").client("s3")
            self._client = client
        return self._client

    def names(self, prefix: str) -> list[str]:
        pages = self._s3().get_paginator("list_objects_v2")
        found = pages.paginate(Bucket=self._bucket, Prefix=self._prefix + prefix)
        keys = (item["Key"] for page in found for item in page.get("Contents", []))
        return sorted(str(key)[len(self._prefix) :] for key in keys)

    def read(self, key: str, offset: int = 0, length: int | None = None) -> bytes:
        if length == 0:
            return b""
        s3, where = self._s3(), {"Bucket": self._bucket, "Key": self._prefix + key}
        if length is not None:
            where["Range"] = f"bytes={offset}-{offset + length - 1}"
        try:
            return bytes(s3.get_object(**where)["Body"].read())
        except s3.exceptions.NoSuchKey as error:
            raise DatasetError(f"s3://{self._bucket}/{self._prefix}{key} is gone") from error


@dataclass(frozen=True)
class Member:
    """One member of a sample, as its line in the member list says."""

    name: str
    suffix: str
    key: str | None
    offset: int
    size: int
    sha256: str
    label: str | None


@dataclass(frozen=True)
class Sample:
    """The bytes of a sample by suffix, such as `jpg`, and its label."""

    key: str
    label: str | None
    members: dict[str, bytes]


class SealedDataset:
    """The newest version of a dataset, or the one that ended with a generation."""

    def __init__(
        self,
        address: str,
        generation: str | None = None,
        *,
        split: str | None = None,
        check: bool = True,
    ) -> None:
        """Reads all member lists.

        address: s3://bucket/pipeline, or a folder with the same layout.
        split: only the samples of train, validation or test, where packing.split is declared.
        check: compare what is read with its SHA-256.
        Raises DatasetError if nothing is sealed, or if there is no such generation or split.
        """
        self._store, self._incoming = _store_of(address)
        self._check = check
        self._split = split
        self._samples: list[tuple[str, str | None, list[Member]]] = []
        self._numbers: dict[str, int] = {}
        self.generations = _generations(self._store, generation)
        """Oldest first."""
        self.labels: dict[str, int] = {}
        """The integer of each class, which it has in every version."""
        self._images: list[dict[str, Any]] = []
        for name in self.generations:
            self._read_generation(name)

    def __len__(self) -> int:
        return len(self._samples)

    def __iter__(self) -> Iterator[Sample]:
        return (self[number] for number in range(len(self)))

    def channels(self) -> tuple[list[float], list[float]] | None:
        """Mean and standard deviation of red, green and blue, from 0 to 1.

        Of all pixels of the prepared images of all splits; None if there are none.
        """
        pixels = sum(one["pixels"] for one in self._images)
        if pixels == 0:
            return None

        def average(of: Callable[[float, float], float], channel: int) -> float:
            values = (of(one["mean"][channel], one["std"][channel]) for one in self._images)
            weights = (one["pixels"] / pixels for one in self._images)
            return float(sum(map(operator.mul, values, weights)))

        mean = [average(lambda mean, _: mean, channel) for channel in range(3)]
        squares = [average(lambda mean, std: mean**2 + std**2, channel) for channel in range(3)]
        deviations = (
            max(0.0, square - one**2) ** 0.5 for one, square in zip(mean, squares, strict=True)
        )
        return mean, list(deviations)

    def keys(self) -> list[str]:
        """The keys of all objects, below incoming/."""
        return list(self._numbers)

    def __contains__(self, key: object) -> bool:
        return key in self._numbers

    def __getitem__(self, which: int | str) -> Sample:
        """A sample by number, or by the key of one of its objects.

        Raises IndexError or KeyError, and DatasetError if the shard holds other bytes.
        """
        number = self._numbers[which] if isinstance(which, str) else which
        shard, compression, members = self._samples[number]
        label = next((one.label for one in members if one.label is not None), None)
        key = next((one.key for one in members if one.key is not None), members[0].name)
        found = {one.suffix: self._read_member(shard, compression, one) for one in members}
        return Sample(key, label, found)

    def _read_generation(self, generation: str) -> None:
        folder = f"dataset/{generation}/"
        manifest = json.loads(self._store.read(f"{folder}manifest.json"))
        labels = manifest.get("labels", [])
        if len(labels) > len(self.labels):
            self.labels = {label: number for number, label in enumerate(labels)}
        self._images += filter(None, [manifest.get("content", {}).get("images")])
        revision = manifest.get("revision")
        shards = f"{folder}shards/" + (f"{revision}/" if revision else "")
        for shard in self._chosen(manifest):
            text = gzip.decompress(self._store.read(folder + shard["memberList"]))
            if hashlib.sha256(text).hexdigest() != shard["memberListSha256"]:
                raise DatasetError(f"{folder}{shard['memberList']} is not the sealed list")
            self._add_lines(shards + shard["name"], manifest.get("compression"), text)

    def _chosen(self, manifest: dict[str, Any]) -> list[dict[str, Any]]:
        """The shards of the split. A shard's folder names it."""
        shards: list[dict[str, Any]] = manifest["shards"]
        if self._split is None:
            return shards
        splits = [name for name in manifest.get("split", {}) if name in _SPLITS]
        if self._split not in splits:
            has = f"has {', '.join(splits)}" if splits else "has no splits"
            raise DatasetError(f"there is no split {self._split}: {manifest['generation']} {has}")
        return [shard for shard in shards if shard["name"].startswith(f"{self._split}/")]

    def _add_lines(self, shard: str, compression: str | None, text: bytes) -> None:
        samples: dict[int, list[Member]] = {}
        # Not splitlines(): it also splits at U+2028.
        for line in text.decode().split("\n"):
            stored = json.loads(line) if line else {"repeat": 0}
            if "repeat" not in stored:
                samples.setdefault(stored["sample"], []).append(self._member(stored))
        for members in samples.values():
            for member in members:
                if member.key is not None:
                    self._numbers[member.key] = len(self._samples)
            self._samples.append((shard, compression, members))

    def _member(self, stored: dict[str, Any]) -> Member:
        key = stored.get("key")
        name = str(stored["name"])
        return Member(
            name=name,
            suffix=name.rpartition("/")[2].partition(".")[2],
            key=None if key is None else str(key).removeprefix(self._incoming),
            offset=stored["offset"],
            size=stored["size"],
            sha256=stored["sha256"],
            label=stored.get("label"),
        )

    def _read_member(self, shard: str, compression: str | None, member: Member) -> bytes:
        if compression is None:
            found = self._store.read(shard, member.offset, member.size)
        else:
            whole = gzip.decompress(self._store.read(shard))
            found = whole[member.offset : member.offset + member.size]
        # A label that the format converts has the digest of its text, and a copied source has none.
        checked = self._check and member.sha256 != "" and member.suffix != "cls"
        if checked and hashlib.sha256(found).hexdigest() != member.sha256:
            raise DatasetError(f"{shard} holds other bytes of {member.name} than were sealed")
        return found


def _store_of(address: str) -> tuple[Store, str]:
    """The store, and the prefix of incoming keys."""
    if not address.startswith("s3://"):
        return Folder(address), f"{Path(address).resolve().name}/incoming/"
    bucket, _, pipeline = address.removeprefix("s3://").strip("/").partition("/")
    if pipeline == "":
        raise DatasetError(f"{address} names no dataset: write s3://bucket/pipeline")
    return Bucket(bucket, f"{pipeline}/"), f"{pipeline}/incoming/"


def _generations(store: Store, generation: str | None) -> list[str]:
    names = store.names("dataset/versions/")
    if not names:
        raise DatasetError("nothing is sealed yet: there is no dataset/versions/")
    newest = json.loads(store.read(names[-1]))
    if generation is None:
        return list(newest["generations"])
    number = newest["added"].get(generation)
    if number is None:
        raise DatasetError(f"{generation} is no generation: {', '.join(newest['added'])}")
    return list(json.loads(store.read(names[number - 1]))["generations"])
