"""The state of a PyTorch training as bytes, and what makes training deterministic."""

import io
import os
import random
from typing import Any

import torch


def state_to_bytes(state: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def state_from_bytes(content: bytes) -> dict[str, Any]:
    """Loads tensors and plain values only, so a checkpoint cannot run code."""
    state: dict[str, Any] = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    return state


def make_deterministic(seed: int, threads: int) -> None:
    """Makes the same inputs give the same bits on the same kind of processor."""
    # CUDA reads it at its first matrix product (docs: torch.use_deterministic_algorithms).
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False
    torch.set_num_threads(threads or int(os.environ.get("OMP_NUM_THREADS", "1")))
    torch.manual_seed(seed)
    random.seed(seed)


def random_state() -> dict[str, Any]:
    state: dict[str, Any] = {"torch": torch.get_rng_state(), "python": random.getstate()}
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def restore_random_state(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["torch"])
    random.setstate(state["python"])
    if torch.cuda.is_available() and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"])
