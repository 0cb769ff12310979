"""A Dataset that looks each sample up in a table, and copies a row of it: the slow `__getitem__`
that questions about slow loaders show."""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
import torch
from device import OnDevice
from torch.utils.data import DataLoader, Dataset


class Visits(Dataset):
    def __init__(self) -> None:
        random = np.random.default_rng(1)
        columns = {f"f{n}": random.normal(size=60_000) for n in range(20)}
        self.visits = pd.DataFrame({"user": random.integers(0, 3_000, 60_000), **columns})
        self.users = self.visits["user"].unique()

    def __len__(self) -> int:
        return len(self.users)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        rows = self.visits[self.visits["user"] == self.users[index]].sort_values("f0")
        means = rows.drop(columns="user").rolling(3, min_periods=1).mean().mean()
        return torch.tensor(means.to_numpy(), dtype=torch.float32), len(rows) % 10


parser = argparse.ArgumentParser()
parser.add_argument("--workers", type=int, default=0)
arguments = parser.parse_args()
torch.set_num_threads(1)
loader = DataLoader(Visits(), 16, shuffle=True, num_workers=arguments.workers)
model = OnDevice(20, 10, 0.05)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
while True:
    for features, labels in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(features), labels).backward()
        optimizer.step()
