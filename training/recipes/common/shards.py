"""Reads WebDataset shards: tar files in which the members of a sample follow each other.

`a/b.png` and `a/b.cls` are the image and the label of the sample `a/b`. The index holds the
positions of the images, which are read when they are needed.
"""

import hashlib
import io
import re
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from common.preparation import Preparation

_MEMBER = re.compile(r"^((?:.*/|)[^.]+)[.]([^/]*)$")
_IMAGES = ("png", "jpg", "jpeg", "bmp", "webp")


@dataclass(frozen=True)
class Sample:
    key: str
    label: str
    shard: Path
    offset: int
    size: int


def read_index(folder: Path) -> list[Sample]:
    """All samples of all shards below the folder, ordered by path and position."""
    shards = sorted(folder.rglob("*.tar"), key=lambda path: path.relative_to(folder).as_posix())
    samples = [sample for shard in shards for sample in _read_shard(shard)]
    if not samples:
        raise ValueError(
            f"no samples in {len(shards)} shards below {folder}: expected tar files "
            f"with <key>.cls beside <key>.{{{','.join(_IMAGES)}}}"
        )
    return samples


def _read_shard(shard: Path) -> Iterator[Sample]:
    with tarfile.open(shard, "r:") as tar:
        current, label, image = "", None, None
        for member in tar:
            match = _MEMBER.match(member.name)
            if not member.isfile() or match is None:
                continue
            key, suffix = match[1], match[2].lower()
            if key != current:
                current, label, image = key, None, None
            if suffix == "cls":
                content = tar.extractfile(member)
                label = content.read().decode("utf-8").strip() if content else None
            elif suffix in _IMAGES:
                image = (member.offset_data, member.size)
            if label is not None and image is not None:
                yield Sample(key, label, shard, *image)
                label, image = None, None


def is_held_out(key: str, percent: int) -> bool:
    """Depends on the key alone, so new data moves no sample between training and held-out part."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") % 100 < percent


def fingerprint(samples: Sequence[Sample]) -> str:
    """Changes with any key, any label and their order."""
    digest = hashlib.sha256()
    for sample in samples:
        digest.update(f"{sample.key}\0{sample.label}\n".encode())
    return digest.hexdigest()


class ImageReader:
    """Decodes images to float tensors in [0, 1] and keeps decoded ones up to a limit."""

    def __init__(
        self,
        example: Sample,
        cache_megabytes: int,
        prepare: Preparation | None = None,
        *,
        prepares: bool = True,
    ) -> None:
        """`prepare` works on every image that is read, in the cache or not.

        Without `prepares` that is left to the caller, and images are read as bytes.
        """
        self.prepare = prepare or Preparation()
        self._prepares = prepares
        self._cache: dict[tuple[Path, int], torch.Tensor] = {}
        self._room = cache_megabytes * 1_000_000
        self._mode = "L"
        image = Image.open(io.BytesIO(_bytes_of(example)))
        self._mode = "L" if image.mode in ("1", "L", "I;16") else "RGB"
        self._packed = tuple(self._decode(example).shape)
        self.shape = tuple(self.prepare(self._decode(example)).shape)
        """Channels, height and width of every prepared image."""

    def read(self, sample: Sample) -> torch.Tensor:
        place = (sample.shard, sample.offset)
        pixels = self._cache.get(place)
        if pixels is None:
            pixels = self._decode(sample)
            if tuple(pixels.shape) != self._packed:
                raise ValueError(
                    f"{sample.key}: image is {tuple(pixels.shape)}, not {self._packed}: "
                    "resize when packing, or pack each size in a pipeline of its own"
                )
            if self._room >= pixels.nbytes:
                self._room -= pixels.nbytes
                self._cache[place] = pixels
        return self.prepare(pixels) if self._prepares else pixels

    def _decode(self, sample: Sample) -> torch.Tensor:
        image = Image.open(io.BytesIO(_bytes_of(sample))).convert(self._mode)
        pixels = torch.from_numpy(np.array(image))
        return pixels.unsqueeze(0) if pixels.ndim == 2 else pixels.permute(2, 0, 1).contiguous()


def _bytes_of(sample: Sample) -> bytes:
    with sample.shard.open("rb") as file:
        file.seek(sample.offset)
        return file.read(sample.size)
