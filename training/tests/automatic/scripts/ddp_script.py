"""Two ranks or more, each with samples, noise and counters of its own; nothing is seeded."""

import os
import time

import torch
import torch.distributed as dist
from end import print_digest
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(5)
data = TensorDataset(torch.randn(96, 6), torch.randint(0, 3, (96,)))
torch.manual_seed(100 + rank)
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=8, sampler=sampler)
model = DistributedDataParallel(
    nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.Dropout(), nn.Linear(12, 3))
)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
seen = 0
for epoch in range(int(os.environ.get("EPOCHS", "5"))):
    sampler.set_epoch(epoch)
    total = torch.zeros(())
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x + 0.1 * torch.randn_like(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
        seen += len(x)
        print(f"rank {rank} loss {loss.item():.6f}", flush=True)
        time.sleep(float(os.environ.get("PAUSE", "0")))
    dist.all_reduce(total)
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, (rank, seen, round(total.item(), 6)))
    if rank == 0:
        print(f"epoch {epoch} {everyone}", flush=True)
    dist.barrier()
if rank == 0:
    print_digest(model)
    print_digest(nn.Linear(1, 1))
dist.barrier()
dist.destroy_process_group()
