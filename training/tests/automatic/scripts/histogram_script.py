"""Reads its weights at each epoch, as loggers of histograms do."""

import torch
from end import print_digest
from torch import nn

model = nn.Linear(1024, 400)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for epoch in range(4):
    for _ in range(5):
        optimizer.zero_grad()
        model(torch.randn(4, 1024)).square().mean().backward()
        optimizer.step()
    print(f"widest {model.weight.detach().cpu().numpy().max():.6f}")
print_digest(model)
