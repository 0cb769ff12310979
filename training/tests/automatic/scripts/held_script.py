"""As a notebook trains: tensors in memory, and batches that only the loops of an epoch hold."""

import torch
from end import print_digest
from torch import nn


def noisy(x, y):
    for part in zip(x.split(8), y.split(8), strict=True):
        yield part[0] + torch.randn(()), part[1]


x, y = torch.randn(40, 3), torch.rand(40, 1)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(4):
    for rows in torch.randperm(len(x)).split(16):
        for a, b in noisy(x[rows], y[rows]):
            optimizer.zero_grad()
            loss = (model(a) - b).square().mean()
            loss.backward()
            optimizer.step()
            print(epoch, loss.item())
print_digest(model)
