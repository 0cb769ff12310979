"""From step 30 on PyTorch reads a number in inference mode, which no hook sees."""

import os
import time

import torch
from torch import nn

model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(1, 601):
    out = model(torch.randn(8, 4))
    loss = out.square().mean()
    if step >= 30:
        with torch.inference_mode():
            count = len(torch.arange((out > 0).sum()))
        loss = loss + out.flatten()[:count].sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.6f}", flush=True)
    time.sleep(float(os.environ.get("PAUSE", "0.1")))
