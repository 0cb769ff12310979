"""A loop that prints `loss.item()` and the norm of its gradients each step, and whose
`torch.amp.GradScaler` skips some steps with `--skip`."""

from __future__ import annotations

import argparse

import torch
from device import OnDevice
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--skip", action="store_true")
arguments = parser.parse_args()
torch.set_num_threads(1)
data = TensorDataset(torch.randn(20_000, 32), torch.randint(10, (20_000,)))
model = OnDevice(32, 10, 0.05)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16, growth_interval=7)
number = 0
while True:
    for inputs, targets in DataLoader(data, 16, shuffle=True):
        number += 1
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        if arguments.skip:
            scale = float("inf") if number % 3 == 0 else 1.0
            scaler.scale(loss * scale).backward()
            scaler.step(optimizer)
            scaler.update()
            continue
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print(f"{number} {loss.item():.4f} {norm.item():.4f}", flush=True)
