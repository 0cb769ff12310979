"""Batches come on a stream of their own, as in NVIDIA's examples; events measure the steps."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from ending import print_digest, read_arguments, report
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

Batch = tuple[torch.Tensor, torch.Tensor]


class Prefetcher:
    def __init__(self, loader: DataLoader, device: torch.device) -> None:
        self.loader, self.device = loader, device
        self.stream = torch.cuda.Stream() if device.type == "cuda" else None

    def __iter__(self) -> Iterator[Batch]:
        ready: Batch | None = None
        for inputs, targets in self.loader:
            if self.stream is None:
                coming = inputs.to(self.device), targets.to(self.device)
            else:
                with torch.cuda.stream(self.stream):
                    coming = (
                        inputs.to(self.device, non_blocking=True).mul_(2).sub_(1),
                        targets.to(self.device, non_blocking=True),
                    )
            if ready is not None:
                yield ready
            if self.stream is not None:
                torch.cuda.current_stream().wait_stream(self.stream)
                for tensor in coming:
                    tensor.record_stream(torch.cuda.current_stream())
            ready = coming
        assert ready is not None
        yield ready


def main() -> None:
    options = read_arguments()
    device = torch.device(options.device)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(5)
    data = TensorDataset(torch.rand(512, 256), torch.randn(512, 8))
    loader = DataLoader(data, 16, shuffle=True, pin_memory=device.type == "cuda", drop_last=True)
    model = nn.Sequential(nn.Linear(256, 256), nn.BatchNorm1d(256), nn.Tanh(), nn.Linear(256, 8))
    model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=options.steps + 1)
    total = torch.zeros((), device=device)
    best, step = float("inf"), 0
    while step < options.steps:
        for inputs, targets in Prefetcher(loader, device):
            if device.type == "cuda":
                began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                began.record()
            loss = nn.functional.mse_loss(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            total += loss.detach()
            step += 1
            if device.type == "cuda":
                ended.record()
                torch.cuda.synchronize()
            if float(loss) < best:
                best = float(loss)
            report(step, total / step, options.pause)
            if step == options.steps:
                break
    print_digest([*model.state_dict().values(), total, torch.tensor(best)])


if __name__ == "__main__":
    main()
