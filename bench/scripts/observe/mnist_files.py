"""Writes small files in the format of MNIST, drawn at random: `python mnist_files.py FOLDER COUNT`.

In FOLDER/MNIST/raw, where torchvision looks for them. Each digit has a mean image of its own, so
that there is something to learn.
"""

from __future__ import annotations

import random
import struct
import sys
from pathlib import Path

SIDE = 28


def write(folder: Path, name: str, count: int, chance: random.Random, means: list[bytes]) -> None:
    labels = bytes(chance.randrange(10) for _ in range(count))
    pixels = bytearray()
    for label in labels:
        noise = chance.randbytes(SIDE * SIDE)
        pixels += bytes((a + b) // 2 for a, b in zip(means[label], noise, strict=True))
    images = struct.pack(">4i", 2051, count, SIDE, SIDE) + pixels
    (folder / f"{name}-images-idx3-ubyte").write_bytes(images)
    (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">2i", 2049, count) + labels)


def main() -> None:
    folder, count = Path(sys.argv[1]) / "MNIST" / "raw", int(sys.argv[2])
    folder.mkdir(parents=True)
    chance = random.Random(0)
    means = [chance.randbytes(SIDE * SIDE) for _ in range(10)]
    write(folder, "train", count, chance, means)
    write(folder, "t10k", count // 4, chance, means)


main()
