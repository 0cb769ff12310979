"""A whole step in a CUDA graph, as PyTorch's notes on CUDA graphs show it."""

from __future__ import annotations

import torch
from ending import print_digest, read_arguments, report
from torch import nn


def main() -> None:
    options = read_arguments()
    device = torch.device(options.device)
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 8)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    inputs = torch.randn(32, 64, device=device)
    targets = torch.randn(32, 8, device=device)

    def learn() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = (model(inputs) - targets).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            learn()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = learn()
    for step in range(4, options.steps + 1):
        inputs.copy_(torch.randn(32, 64))
        graph.replay()
        report(step, loss, options.pause)
    print_digest(model.parameters())


if __name__ == "__main__":
    main()
