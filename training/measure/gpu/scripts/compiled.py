"""torch.compile around the model."""

from __future__ import annotations

import torch
from ending import print_digest, read_arguments, report
from torch import nn


def main() -> None:
    options = read_arguments()
    device = torch.device(options.device)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 8)).to(device)
    trained = torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(1, options.steps + 1):
        inputs = torch.randn(32, 64, device=device)
        loss = (trained(inputs) - inputs[:, :8]).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        report(step, loss, options.pause)
    print_digest(model.parameters())


if __name__ == "__main__":
    main()
