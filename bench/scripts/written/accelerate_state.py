"""Accelerate's save_state and load_state at epochs, as its guide to checkpoints shows them."""

from __future__ import annotations

import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration, set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--project_dir", required=True)
parser.add_argument("--resume_from_checkpoint")
parser.add_argument("--num_epochs", type=int, default=15)
args = parser.parse_args()

set_seed(0)
inputs = torch.randn(3200, 32)
labels = (inputs @ torch.randn(32, 4)).argmax(dim=1)
model: nn.Module = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Dropout(0.1), nn.Linear(256, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(inputs, labels), batch_size=32, shuffle=True)
accelerator = Accelerator(cpu=True, project_config=ProjectConfiguration(args.project_dir))
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
starting_epoch = 0
if args.resume_from_checkpoint:
    accelerator.load_state(args.resume_from_checkpoint)
    starting_epoch = int(args.resume_from_checkpoint.rpartition("_")[2]) + 1
for epoch in range(starting_epoch, args.num_epochs):
    for batch, target in loader:
        loss = nn.functional.cross_entropy(model(batch), target)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    accelerator.print(f"epoch {epoch}: loss {loss.item():.4f}")
    accelerator.save_state(f"{args.project_dir}/epoch_{epoch}")
