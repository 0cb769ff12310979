"""Trains its first epoch on what was there before, and each later one on what no walk finds."""

import os
import time

import torch
from torch import nn

x = torch.randn(96, 4)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
for epoch in range(600):
    for (batch,) in [frozenset([rows]) for rows in (x + epoch).split(4)]:
        step += 1
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.6f}", flush=True)
        time.sleep(float(os.environ.get("PAUSE", "0.1")))
