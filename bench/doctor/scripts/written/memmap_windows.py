"""The data of https://github.com/karpathy/nanoGPT: random windows of a numpy.memmap, without a
loader. The tokens are in the page cache, so nothing is wrong with that."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from device import OnDevice

path = Path("tokens.bin")
if not path.exists():
    np.random.default_rng(3).integers(0, 50_000, 20_000_000, np.uint16).tofile(path)


def get_batch(batch_size: int = 12, block_size: int = 1024) -> tuple[torch.Tensor, torch.Tensor]:
    # The map is made for each batch, against a leak of memory.
    data = np.memmap(path, dtype=np.uint16, mode="r")
    ix = torch.randint(len(data) - block_size, (batch_size,))
    x = torch.stack([torch.from_numpy(data[i : i + block_size].astype(np.int64)) for i in ix])
    return x, x[:, -1] % 10


torch.set_num_threads(1)
model = OnDevice(1024, 10, 0.08)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
while True:
    inputs, targets = get_batch()
    optimizer.zero_grad(set_to_none=True)
    torch.nn.functional.cross_entropy(model(inputs), targets).backward()
    optimizer.step()
