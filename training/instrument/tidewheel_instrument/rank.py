"""Which of a training's processes this one is."""

from __future__ import annotations

import os
import sys

_RANKS = ("RANK", "TIDEWHEEL_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")


def own_rank() -> int:
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    texts = [os.environ.get(name, "") for name in _RANKS]
    return next((int(text) for text in texts if text.isdigit()), 0)
