"""A cross-validation whose folds are trained by processes of their own, one after the other."""

import subprocess
import sys

import torch

FOLDS = 2


def train(fold: int) -> None:
    torch.manual_seed(fold)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(12):
        loss = (model(torch.randn(8, 4)) - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"fold {fold}: {model.weight.detach().flatten().tolist()}", flush=True)


if len(sys.argv) > 1:
    train(int(sys.argv[1]))
else:
    for fold in range(FOLDS):
        subprocess.run([sys.executable, __file__, str(fold)], check=True)
