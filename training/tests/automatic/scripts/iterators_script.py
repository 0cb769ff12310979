"""State where no variable leads: in a `for`, in iterators of C, in slots, in an optimizer."""

import itertools
from dataclasses import dataclass

import torch
from end import print_digest
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Decaying(torch.optim.Optimizer):
    def __init__(self, parameters, lr):
        super().__init__(parameters, {"lr": lr})
        self.count = 0

    @torch.no_grad()
    def step(self, closure=None):
        self.count += 1
        self.state["seen"] = self.state.get("seen", 0) + 1
        for group in self.param_groups:
            for parameter in group["params"]:
                rate = group["lr"] / (self.count + self.state["seen"])
                parameter.sub_(parameter.grad, alpha=rate)


@dataclass(slots=True)
class Averages:
    weight: torch.Tensor


def shuffled(x, size):
    order = torch.randperm(len(x))
    for start in range(0, len(x), size):
        yield x[order[start : start + size]]


def shown(batches):
    for number, batch in enumerate(batches):
        yield batch
        print(f"batch {number}")


x = torch.randn(24, 3)
model = nn.Linear(3, 1)
optimizer = Decaying(model.parameters(), lr=0.5)
averages = Averages(torch.zeros(1, 3))
again = itertools.cycle(DataLoader(TensorDataset(x), batch_size=5))
norms = []
model.weight.register_hook(lambda gradient: norms.append(gradient.norm().item()))
for epoch in range(4):
    for batch, (other,) in zip(shown(shuffled(x, 4)), again, strict=False):
        optimizer.zero_grad()
        loss = (model(batch) - 1).square().mean() + (model(other) + len(norms)).square().mean()
        loss.backward()
        optimizer.step()
        averages.weight = 0.9 * averages.weight + 0.1 * model.weight.detach()
    print(epoch, loss, averages.weight)
model.weight.data += averages.weight
print_digest(model)
