"""Random numbers from a clock, from the system, shared with a loader, in a stream."""

import random
import time

import numpy
import torch
from end import print_digest
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset

random.seed(time.time_ns())
numpy.random.seed()
shared = numpy.random.default_rng()


class Noisy(Dataset):
    def __init__(self):
        self.x = numpy.random.randn(24, 4).astype("float32")

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        noise = numpy.random.normal() + random.random() + shared.random()
        return self.x[index] + numpy.float32(noise)


class Stream(IterableDataset):
    """Goes on in the next epoch where it was."""

    def __init__(self):
        self.count = 0
        self.chance = random.Random()

    def __iter__(self):
        for _ in range(12):
            self.count += 1
            yield torch.rand(4) * (self.count % 5) + self.chance.random()


def train(batch):
    optimizer.zero_grad()
    loss = (model(batch) - 1).square().mean()
    loss.backward()
    optimizer.step()
    print(loss)


model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
stream = DataLoader(Stream(), batch_size=4)
extra = numpy.random.randn(16, 4).astype("float32")
for _ in range(4):
    order = numpy.random.permutation(16)
    scale = 1 + random.random() + shared.random()
    for batch in DataLoader(Noisy(), batch_size=8, shuffle=True):
        train(batch * scale)
    for batch in stream:
        train(batch)
    for start in range(0, 16, 8):
        train(torch.from_numpy(extra[order[start : start + 8]]))
print_digest(model)
