"""The project's digits as WebDataset shards, as the packer writes them."""

from __future__ import annotations

import csv
import gzip
import io
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

from PIL import Image

from hosts import TRAINING

_DIGITS = TRAINING / "data" / "digits" / "digits.csv.gz"


def digit_images() -> Iterator[tuple[str, str, bytes]]:
    """Each digit's key, label and PNG."""
    with gzip.open(_DIGITS, "rt") as file:
        rows = [[int(value) for value in row] for row in csv.reader(file)]
    for index, row in enumerate(rows):
        image = Image.frombytes("L", (8, 8), bytes(round(v * 255 / 16) for v in row[:64]))
        buffer = io.BytesIO()
        image.save(buffer, "PNG")
        yield f"{row[64]}/{index:04d}", str(row[64]), buffer.getvalue()


def write_digits(
    folder: Path, *, shards: int, takes: Callable[[str], bool] = lambda key: True
) -> None:
    """`takes`: by the key, such as 7/0001."""
    folder.mkdir(parents=True)
    digits = list(digit_images())
    for number in range(shards):
        with tarfile.open(folder / f"{number:06d}.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
            for key, label, image in digits[number::shards]:
                for suffix, content in (("cls", label.encode()), ("png", image)) * takes(key):
                    member = tarfile.TarInfo(f"{key}.{suffix}")
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))
