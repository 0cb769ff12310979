"""Saves everything every so many steps to a slow volume. `--writer numpy` is a script that does not
use torch.save; `--background` writes in a thread."""

from __future__ import annotations

import argparse
import threading
import time
from pathlib import Path

import numpy as np
import torch
from device import OnDevice
from torch.utils.data import DataLoader, TensorDataset

MEGABYTES_PER_SECOND = 40


class SlowVolume:
    """A file on a volume of so many megabytes a second."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("wb")

    def write(self, data: bytes) -> int:
        time.sleep(len(data) / 1e6 / MEGABYTES_PER_SECOND)
        return self.file.write(data)

    def __getattr__(self, name: str) -> object:
        return getattr(self.file, name)


def save(state: dict[str, torch.Tensor], writer: str) -> None:
    path = Path("checkpoint.part")
    if writer == "numpy":
        np.savez(SlowVolume(path), **{name: value.numpy() for name, value in state.items()})
    else:
        torch.save(state, SlowVolume(path))
    path.replace("checkpoint.bin")


parser = argparse.ArgumentParser()
parser.add_argument("--save-steps", type=int, default=40)
parser.add_argument("--writer", choices=["torch", "numpy"], default="torch")
parser.add_argument("--background", action="store_true")
arguments = parser.parse_args()
torch.set_num_threads(1)
data = TensorDataset(torch.randn(20_000, 32), torch.randint(10, (20_000,)))
moments = torch.zeros(20_000_000 // 2)
model = OnDevice(32, 10, 0.05)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
while True:
    for inputs, targets in DataLoader(data, 16, shuffle=True):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
        step += 1
        if step % arguments.save_steps == 0:
            state = {**{n: v.clone() for n, v in model.state_dict().items()}, "moments": moments}
            if arguments.background:
                threading.Thread(target=save, args=(state, arguments.writer)).start()
            else:
                save(state, arguments.writer)
