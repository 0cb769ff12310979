"""cuDNN's LSTM with dropout, which keeps its random numbers where Python cannot see them."""

from __future__ import annotations

import torch
from ending import print_digest, read_arguments, report
from torch import nn


def main() -> None:
    options = read_arguments()
    device = torch.device(options.device)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(7)
    model = nn.LSTM(32, 64, num_layers=2, dropout=0.3, batch_first=True).to(device)
    head = nn.Linear(64, 4).to(device)
    optimizer = torch.optim.RMSprop([*model.parameters(), *head.parameters()], lr=1e-3)
    state = None
    for step in range(1, options.steps + 1):
        inputs = torch.randn(8, 20, 32, device=device)
        outputs, state = model(inputs, state)
        state = tuple(part.detach() for part in state)
        loss = (head(outputs) - inputs[..., :4]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        report(step, loss, options.pause)
    print_digest([*model.parameters(), *head.parameters()])


if __name__ == "__main__":
    main()
