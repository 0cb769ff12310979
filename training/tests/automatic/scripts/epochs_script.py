"""As tutorials train: epochs, a shuffled loader, a test after each; nothing is seeded."""

import itertools
import random

import numpy
import torch
from end import print_digest
from torch import nn
from torch.utils.data import DataLoader, Dataset, RandomSampler


class Noisy(Dataset):
    def __init__(self, size):
        self.x = torch.randn(size, 8)
        self.y = torch.randint(0, 3, (size,))

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index] * random.uniform(0.9, 1.1) + numpy.random.normal(), self.y[index]


class Batches:
    """A generator over PyTorch's own, as libraries write them."""

    def __init__(self, dataset, size):
        self.sampler, self.size = RandomSampler(dataset), size

    def __iter__(self):
        chosen = iter(self.sampler)
        while batch := list(itertools.islice(chosen, self.size)):
            yield batch

    def __len__(self):
        return -(-len(self.sampler) // self.size)


def train(model, loader, optimizer, epoch):
    model.train()
    losses, running = [], torch.zeros(())
    for index, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x.float()), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        running += loss.detach()
        print(f"epoch {epoch} batch {index} loss {sum(losses) / len(losses):.6f}")
    return running.item() / len(losses)


def test(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in loader:
            correct += model(x.float()).argmax(1).eq(y).sum().item()
    return correct / len(loader.dataset)


def main():
    dataset = Noisy(60)
    loader = DataLoader(dataset, batch_sampler=Batches(dataset, 8), num_workers=WORKERS)
    model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Dropout(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    best = 0.0
    for epoch in range(3):
        schedule.step(train(model, loader, optimizer, epoch))
        accuracy = test(model, loader)
        if accuracy >= best:
            best = accuracy
            torch.save(model.state_dict(), "best.pt")
        print(f"accuracy {accuracy:.3f}")
    model.load_state_dict(torch.load("best.pt"))
    print_digest(model)


WORKERS = 0
if __name__ == "__main__":
    main()
