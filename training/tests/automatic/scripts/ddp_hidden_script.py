"""Two ranks. HIDES=tensor: rank 1 keeps a tensor where the hooks cannot find it. HIDES=generator:
rank 1 draws from a generator that nothing seeds, in a closure, where they can."""

import os
import random
import time
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

means = {torch.zeros(3)}


def mean_with(out: torch.Tensor) -> torch.Tensor:
    mean = 0.9 * means.pop() + 0.1 * out.detach().mean(0)
    means.add(mean)
    return mean


def make_noise() -> Callable[[], float]:
    generator = random.Random()
    return lambda: generator.random()


dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(5)
noise = make_noise()
model = DistributedDataParallel(nn.Linear(6, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(1, 2001):
    x = torch.randn(4, 6)
    if rank == 1 and os.environ["HIDES"] == "generator":
        x = x + noise()
    out = model(x)
    target = mean_with(out) if rank == 1 and os.environ["HIDES"] == "tensor" else torch.zeros(3)
    loss = (out - target).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"rank {rank} step {step} loss {loss.item():.6f}", flush=True)
    time.sleep(0.1)
dist.barrier()
dist.destroy_process_group()
