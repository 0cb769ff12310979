"""Shapes that depend on data, as a detector has them: masks, hard negatives, padded batches."""

from __future__ import annotations

import torch
from ending import print_digest, read_arguments, report
from torch import nn
from torch.nn import functional


def main() -> None:
    options = read_arguments()
    device = torch.device(options.device)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 3)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.003)
    known, hits = torch.arange(256, device=device) % 3 == 0, 0
    for step in range(1, options.steps + 1):
        inputs = torch.randn(256, 64, device=device)
        labels = torch.randint(0, 3, (256,), device=device)
        out = model(inputs)
        is_large = out.amax(dim=1) > out.mean()
        losses = functional.cross_entropy(out, labels, reduction="none")
        (rows,) = torch.where(is_large)
        hard = losses[~is_large].topk(min(8, 256 - len(rows))).values
        loss = losses[rows].mean() + hard.sum() + out[known].square().mean()
        for kind, count in zip(*torch.unique(labels, return_counts=True), strict=True):
            loss = loss + losses.masked_select(labels == kind).sum() / count
        with torch.inference_mode():
            hits += len(labels[out.argmax(dim=1) == labels])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        report(step, loss, options.pause)
    print_digest([*model.state_dict().values(), torch.tensor(hits)])


if __name__ == "__main__":
    main()
