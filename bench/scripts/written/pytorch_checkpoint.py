"""A general checkpoint, as PyTorch's tutorial on saving and loading models shows it."""

from __future__ import annotations

import argparse
import os

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--checkpoint", required=True)
args = parser.parse_args()

torch.manual_seed(0)
inputs = torch.randn(2000, 32)
labels = (inputs @ torch.randn(32, 4)).argmax(dim=1)
order = torch.Generator()
loader = DataLoader(TensorDataset(inputs, labels), 50, shuffle=True, generator=order)
model = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Dropout(0.1), nn.Linear(256, 4))
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=0.001)

first_epoch = 0
if os.path.exists(args.checkpoint):
    checkpoint = torch.load(args.checkpoint)
    model.load_state_dict(checkpoint["model_state_dict"])
    optimizer.load_state_dict(checkpoint["optimizer_state_dict"])
    first_epoch = checkpoint["epoch"] + 1

for epoch in range(first_epoch, args.epochs):
    torch.manual_seed(epoch)
    order.manual_seed(epoch)
    for batch, target in loader:
        optimizer.zero_grad()
        loss = criterion(model(batch), target)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}", flush=True)
    torch.save(
        {
            "epoch": epoch,
            "model_state_dict": model.state_dict(),
            "optimizer_state_dict": optimizer.state_dict(),
            "loss": loss.item(),
        },
        args.checkpoint,
    )
