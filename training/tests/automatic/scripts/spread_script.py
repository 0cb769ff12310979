"""Ranks that each hold a part of the weights, or of the optimizer's state: SPREAD_BY names how."""

import os

import torch
import torch.distributed as dist
from end import print_digest
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
spread_by = os.environ["SPREAD_BY"]
torch.manual_seed(5)
inner = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3))
model: nn.Module = inner
optimizer: torch.optim.Optimizer
if spread_by == "ZeroRedundancyOptimizer":
    model = DistributedDataParallel(inner)
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.01)
elif spread_by == "fully_shard":
    fully_shard(inner)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
else:
    model = FullyShardedDataParallel(inner, device_id=torch.device("cpu"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
torch.manual_seed(100 + dist.get_rank())
for _ in range(10):
    x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
if spread_by == "ZeroRedundancyOptimizer":
    print_digest(model)
else:
    print_digest(nn.Linear(1, 1))
dist.barrier()
dist.destroy_process_group()
