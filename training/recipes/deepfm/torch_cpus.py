"""On which cores a rank of PyTorch runs, and by how many threads."""

from __future__ import annotations

import torch

from common.cores import bind_to_cores
from config import Config


def use_cpus(config: Config, local_rank: int, local_ranks: int) -> None:
    """Before the first operation."""
    if config.affinity == "cores":
        bind_to_cores(local_rank, local_ranks)
    torch.set_num_threads(config.threads)
    if config.inter_threads:
        torch.set_num_interop_threads(config.inter_threads)
