"""Keeps copies: an average of the weights, the best model, and the best state, as scripts do."""

import copy

import torch
from end import print_digest
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
average = copy.deepcopy(model)
best, best_model, best_state = float("inf"), None, None
for _ in range(18):
    optimizer.zero_grad()
    loss = (model(torch.randn(16, 4)) - 1).square().mean()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for mean, new in zip(average.parameters(), model.parameters(), strict=True):
            mean.lerp_(new, 0.1)
    print(loss.item())
    if loss.item() < best:
        best = loss.item()
        best_model = copy.deepcopy(model)
        best_state = copy.deepcopy(model.state_dict())
kept = copy.deepcopy(model)
kept.load_state_dict(best_state)
print_digest(nn.ModuleList([model, average, best_model, kept]))
