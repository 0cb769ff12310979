"""A loop that opens its images with Pillow, as many first scripts do: no Dataset and no DataLoader.
With --workers the same images come from a DataLoader."""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from device import OnDevice
from images import make, open_image, rows_of
from torch.utils.data import DataLoader, Dataset

folder = make(Path("images"))
rows = rows_of(folder)


def load(row: tuple[str, int]) -> tuple[torch.Tensor, int]:
    image = open_image(folder / row[0]).resize((64, 64))
    return torch.from_numpy(np.array(image)).permute(2, 0, 1) / 255, row[1]


class Rows(Dataset):
    def __len__(self) -> int:
        return len(rows)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return load(rows[index])


def batches(workers: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    if workers:
        yield from DataLoader(Rows(), 16, shuffle=True, num_workers=workers)
        return
    random.shuffle(rows)
    for start in range(0, len(rows), 16):
        samples = [load(row) for row in rows[start : start + 16]]
        yield torch.stack([image for image, _ in samples]), torch.tensor([y for _, y in samples])


parser = argparse.ArgumentParser()
parser.add_argument("--workers", type=int, default=0)
arguments = parser.parse_args()
torch.set_num_threads(1)
model = OnDevice(3 * 64 * 64, 10, 0.06)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
while True:
    for images, labels in batches(arguments.workers):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
