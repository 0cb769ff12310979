"""Weights that the script updates by itself: no optimizer of PyTorch makes a step."""

import copy

import numpy
import torch
from end import print_digest
from torch import nn


class Momentum:
    def __init__(self, parameters):
        self.parameters = list(parameters)
        self.moments = [torch.zeros_like(parameter) for parameter in self.parameters]

    def step(self, rate):
        with torch.no_grad():
            for parameter, moment in zip(self.parameters, self.moments, strict=True):
                moment.mul_(0.9).add_(parameter.grad)
                parameter -= rate * moment
                parameter.grad.zero_()


chance = numpy.random.default_rng()
x = chance.standard_normal((64, 4)).astype("float32")
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
average = copy.deepcopy(model)
momentum = Momentum(model.parameters())
rate, best, waited = 0.1, float("inf"), 0
for step in range(40):
    batch = torch.from_numpy(x[chance.choice(64, 8, replace=False)])
    loss = (model(batch) - 1).square().mean()
    loss.backward()
    momentum.step(rate)
    with torch.no_grad():
        for mean, now in zip(average.parameters(), model.parameters(), strict=True):
            mean.lerp_(now, 0.1)
    value = float(loss.detach())
    best, waited = (value, 0) if value < best else (best, waited + 1)
    if waited > 3:
        rate, waited = rate / 2, 0
    print(f"step {step} loss {value:.6f} rate {rate}")
print_digest(nn.ModuleList([model, average]))
