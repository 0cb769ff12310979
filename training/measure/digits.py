"""The project's digits as WebDataset shards, as the packer writes them."""

from __future__ import annotations

import csv
import gzip
import io
import tarfile
from pathlib import Path

from PIL import Image

from hosts import TRAINING

_DIGITS = TRAINING / "data" / "digits" / "digits.csv.gz"


def write_digits(folder: Path, *, shards: int) -> None:
    folder.mkdir(parents=True)
    with gzip.open(_DIGITS, "rt") as file:
        rows = [[int(value) for value in row] for row in csv.reader(file)]
    for number in range(shards):
        with tarfile.open(folder / f"{number:06d}.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
            for index, row in list(enumerate(rows))[number::shards]:
                image = Image.frombytes("L", (8, 8), bytes(round(v * 255 / 16) for v in row[:64]))
                buffer = io.BytesIO()
                image.save(buffer, "PNG")
                for suffix, content in (("cls", str(row[64]).encode()), ("png", buffer.getvalue())):
                    member = tarfile.TarInfo(f"{row[64]}/{index:04d}.{suffix}")
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))
