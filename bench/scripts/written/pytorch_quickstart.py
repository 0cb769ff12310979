"""Training as PyTorch's quickstart shows it, on data drawn at random; saves a model."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
images = torch.rand(1920, 1, 28, 28)
training_data = TensorDataset(images, (images.mean(dim=(1, 2, 3)) * 1e4).long() % 10)
train_dataloader = DataLoader(training_data, batch_size=64, shuffle=True)


class NeuralNetwork(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(28 * 28, 512),
            nn.ReLU(),
            nn.Linear(512, 512),
            nn.ReLU(),
            nn.Linear(512, 10),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.linear_relu_stack(self.flatten(x))
        return logits


def train(
    dataloader: DataLoader[tuple[torch.Tensor, ...]],
    model: nn.Module,
    loss_fn: nn.Module,
    optimizer: torch.optim.Optimizer,
) -> None:
    size = len(training_data)
    model.train()
    for batch, (x, y) in enumerate(dataloader):
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if batch % 10 == 0:
            print(f"loss: {loss.item():>7f}  [{(batch + 1) * len(x):>5d}/{size:>5d}]", flush=True)


model = NeuralNetwork()
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for epoch in range(10):
    print(f"Epoch {epoch + 1}\n-------------------------------")
    train(train_dataloader, model, loss_fn, optimizer)
torch.save(model.state_dict(), "model.pth")
