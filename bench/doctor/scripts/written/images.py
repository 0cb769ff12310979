"""A folder of JPEG files with an annotations.csv, made from a seed where it is missing."""

from __future__ import annotations

import csv
import time
from pathlib import Path

import numpy as np
from PIL import Image

LATENCY_SECONDS = 0.008
"""Of a read from a network file system."""


def make(folder: Path, count: int = 400, side: int = 160) -> Path:
    done = folder / "annotations.csv"
    if done.exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(5)
    rows = []
    for number in range(count):
        small = random.integers(0, 255, (side // 16, side // 16, 3), np.uint8)
        image = Image.fromarray(small).resize((side, side), Image.Resampling.BICUBIC)
        image.save(folder / f"{number:05d}.jpg", quality=90)
        rows.append((f"{number:05d}.jpg", int(random.integers(10))))
    with done.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return folder


def rows_of(folder: Path) -> list[tuple[str, int]]:
    with (folder / "annotations.csv").open() as file:
        return [(name, int(label)) for name, label in csv.reader(file)]


def open_image(path: Path) -> Image.Image:
    time.sleep(LATENCY_SECONDS)
    return Image.open(path).convert("RGB")
