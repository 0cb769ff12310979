"""Trains one model after another, as a search does: most are made while a replay is on."""

import torch
from end import print_digest
from torch import nn


def train(rate: float) -> nn.Module:
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)).to("cpu").float()
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    for _ in range(6):
        optimizer.zero_grad()
        loss = model(torch.randn(16, 4)).square().mean()
        loss.backward()
        optimizer.step()
        print(f"{rate}: {loss.item()} {loss:.3f}", loss.detach(), model[0].bias.tolist())
    return model


models = []
for rate in (0.1, 0.05, 0.01):
    models.append(train(rate))
print_digest(nn.ModuleList(models))
