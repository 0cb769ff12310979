"""Two ranks under DDP; the second one is slower, so the first waits in the exchange."""

import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(200, 200))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for _step in range(60):
    optimizer.zero_grad()
    loss = model(torch.randn(8, 200)).sum()
    time.sleep(0.04 if dist.get_rank() == 1 else 0.01)
    loss.backward()
    optimizer.step()
# Gloo's thread may still own the last exchange's tensors, and aborts as the interpreter ends
# (https://github.com/pytorch/pytorch/issues/190489). A later exchange replaces it there.
dist.barrier()
dist.destroy_process_group()
