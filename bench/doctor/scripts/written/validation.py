"""A loop that evaluates the whole held-out part every so many steps, as minGPT-like scripts do."""

from __future__ import annotations

import argparse

import torch
from device import OnDevice
from torch.utils.data import DataLoader, TensorDataset


@torch.no_grad()
def evaluate(model: torch.nn.Module, batches: list[torch.Tensor]) -> float:
    return sum(float(model(batch).mean()) for batch in batches) / len(batches)


parser = argparse.ArgumentParser()
parser.add_argument("--eval-steps", type=int, default=50)
arguments = parser.parse_args()
torch.set_num_threads(1)
data = TensorDataset(torch.randn(20_000, 32), torch.randint(10, (20_000,)))
held_out = list(torch.randn(40, 16, 32))
model = OnDevice(32, 10, 0.05)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
while True:
    for inputs, targets in DataLoader(data, 16, shuffle=True):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
        step += 1
        if step % arguments.eval_steps == 0:
            print(f"step {step}: {evaluate(model, held_out):.4f}", flush=True)
