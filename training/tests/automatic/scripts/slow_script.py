"""Seeded, and slow enough to be interrupted."""

import os
import time

import torch
from end import print_digest
from torch import nn

torch.manual_seed(1)
model = nn.Linear(4, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(1, int(os.environ.get("STEPS", "60")) + 1):
    loss = model(torch.randn(8, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.6f}", flush=True)
    time.sleep(float(os.environ.get("PAUSE", "0.1")))
print_digest(model)
