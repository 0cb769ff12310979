"""Digests of all that a checkpoint would hold, so that two processes can compare where they are."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from typing import Any

import torch

from .replicated import Replicated, all_replicated
from .snapshot import name_of
from .tensors import SavedTensor

_SHORT = 16


def fingerprint(state: dict[str, Any]) -> dict[str, str]:
    """A digest for each object, generator and loader, by the name that a person would use."""
    digests: dict[str, Any] = {}
    for path, value in state["objects"].items():
        add_to_digest(digests.setdefault(name_of(path), hashlib.sha256()).update, value)
    for name, value in state["random"].items():
        add_to_digest(
            digests.setdefault(f"random numbers of {name}", hashlib.sha256()).update, value
        )
    for number, value in state["loaders"].items():
        add_to_digest(
            digests.setdefault(f"loader {number}", hashlib.sha256()).update, value["position"]
        )
    return {name: digest.hexdigest()[:_SHORT] for name, digest in digests.items()}


def digest_of_replicated(objects: dict[Any, Any]) -> str:
    """Equal on ranks that hold the same bits under the same paths."""
    digest = hashlib.sha256()
    for path, value in all_replicated(objects):
        digest.update(repr(path).encode())
        add_to_digest(digest.update, value.value)
    return digest.hexdigest()


def add_to_digest(update: Callable[[Any], object], value: Any) -> None:
    if isinstance(value, Replicated):
        add_to_digest(update, value.value)
    elif isinstance(value, SavedTensor):
        add_to_digest(update, value.data)
        add_to_digest(update, value.grad)
    elif isinstance(value, torch.Tensor):
        update(f"{value.dtype} {tuple(value.shape)}".encode())
        update(_bytes_of(value))
    elif isinstance(value, dict):
        for key, item in value.items():
            update(repr(key).encode())
            add_to_digest(update, item)
    elif isinstance(value, (list, tuple)):
        update(str(len(value)).encode())
        for item in value:
            add_to_digest(update, item)
    elif hasattr(value, "tobytes"):
        update(value.tobytes())
    else:
        update(repr(value).encode())


def _bytes_of(tensor: torch.Tensor) -> Any:
    data = tensor.detach().cpu()
    if data.layout == torch.strided and not data.is_quantized:
        # A single element may have any stride and be contiguous, but no view in bytes.
        flat = data.contiguous().as_strided((data.numel(),), (1,))
        return flat.view(torch.uint8).numpy()
    buffer = io.BytesIO()
    torch.save(data, buffer)
    return buffer.getvalue()
