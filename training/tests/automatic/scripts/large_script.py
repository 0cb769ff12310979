"""Seeded, with 12 MB of state, which takes several steps to write."""

import os

import torch
from end import print_digest
from torch import nn

torch.manual_seed(1)
model = nn.Linear(1000, 1000)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(1, int(os.environ.get("STEPS", "60")) + 1):
    loss = model(torch.randn(8, 1000)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.6f}", flush=True)
print_digest(model)
