"""Keeps a tensor where the hooks cannot find it, so that no restore is exact."""

import time

import torch
from torch import nn

means = {torch.zeros(2)}


def mean_with(out):
    mean = 0.9 * means.pop() + 0.1 * out.detach().mean(0)
    means.add(mean)
    return mean


model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
with open("log.txt", "w", buffering=1) as log:
    for step in range(1, 601):
        out = model(torch.randn(8, 4))
        loss = (out - mean_with(out)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.6f}", flush=True)
        log.write(f"{step}\n")
        time.sleep(0.1)
