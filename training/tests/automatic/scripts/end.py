"""What every script here does last: it prints a digest of its weights."""

import hashlib

import torch


def print_digest(model: torch.nn.Module) -> None:
    weights = b"".join(value.numpy().tobytes() for value in model.state_dict().values())
    print(f"digest {hashlib.sha256(weights).hexdigest()}", flush=True)
