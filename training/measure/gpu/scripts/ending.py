"""What the scripts here share: their arguments and the digest of what they have trained."""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Iterable

import torch


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--pause", type=float, default=0.02, help="seconds a step")
    return parser.parse_args()


def report(step: int, loss: torch.Tensor, pause: float) -> None:
    time.sleep(pause)
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.6f}", flush=True)


def print_digest(tensors: Iterable[torch.Tensor]) -> None:
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(tensor.detach().float().cpu().contiguous().numpy().tobytes())
    print("digest", digest.hexdigest(), flush=True)
