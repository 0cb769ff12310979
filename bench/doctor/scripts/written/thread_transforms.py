"""A thread prepares batches into a queue. Its transforms are plain Python, so it shares one core
with the training. With --workers a DataLoader's processes run them."""

from __future__ import annotations

import argparse
import queue
import random
import threading
from collections.abc import Iterator

import torch
from device import OnDevice
from torch.utils.data import DataLoader, Dataset

Batch = tuple[torch.Tensor, torch.Tensor]


def augment(seed: int) -> list[float]:
    draw = random.Random(seed)
    values = [draw.random() for _ in range(1_500)]
    for _ in range(4):
        values = [(a + b) / 2 for a, b in zip(values, values[1:] + values[:1], strict=True)]
    return values


class Samples(Dataset):
    def __len__(self) -> int:
        return 4_000

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.tensor(augment(index)), index % 10


def in_thread(batches: Iterator[Batch]) -> Iterator[Batch]:
    ready: queue.Queue[Batch | None] = queue.Queue(4)

    def fill() -> None:
        for batch in batches:
            ready.put(batch)
        ready.put(None)

    threading.Thread(target=fill, daemon=True).start()
    while (batch := ready.get()) is not None:
        yield batch


def by_hand(data: Samples) -> Iterator[Batch]:
    for start in range(0, len(data), 16):
        rows = [data[index] for index in range(start, start + 16)]
        yield torch.stack([row for row, _ in rows]), torch.tensor([label for _, label in rows])


parser = argparse.ArgumentParser()
parser.add_argument("--workers", type=int, default=0)
arguments = parser.parse_args()
torch.set_num_threads(1)
data = Samples()
model = OnDevice(1_500, 10, 0.02)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
while True:
    source = (
        DataLoader(data, 16, num_workers=arguments.workers)
        if arguments.workers
        else in_thread(by_hand(data))
    )
    for features, labels in source:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(features), labels).backward()
        optimizer.step()
