"""A loop over a `numpy.memmap` without any loader: each batch gathers rows and normalises them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from device import OnDevice

ROWS, WIDTH = 4_000, 20_000
path = Path("rows.npy")
if not path.exists():
    made = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(ROWS, WIDTH))
    made[:] = np.random.default_rng(3).standard_normal(WIDTH, np.float32)
    made.flush()
torch.set_num_threads(1)
rows = np.load(path, mmap_mode="r")
draw = np.random.default_rng(4)


def batch(size: int) -> torch.Tensor:
    taken = np.array(rows[draw.integers(0, ROWS, size)])
    taken = (taken - taken.mean(1, keepdims=True)) / taken.std(1, keepdims=True)
    return torch.from_numpy(np.clip(taken, -3, 3))


model = OnDevice(WIDTH, 10, 0.04)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
while True:
    inputs = batch(64)
    optimizer.zero_grad()
    model(inputs).square().mean().backward()
    optimizer.step()
