"""DeepFM in PyTorch, as a function of its weights (https://arxiv.org/abs/1703.04247)."""

from __future__ import annotations

import torch

TABLES = ("embedding", "linear")
Weights = dict[str, torch.Tensor]


def logits(
    weights: Weights, rows: torch.Tensor, linear: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    """Adds first-order terms, pairs by factorization, and a deep part over the same embeddings."""
    first = linear.sum((1, 2)) + (values @ weights["value_weights"]).squeeze(1) + weights["bias"]
    summed = rows.sum(1)
    pairs = 0.5 * (summed**2 - (rows**2).sum(1)).sum(1)
    deep = torch.cat([rows.flatten(1), values], 1)
    deep = torch.relu(deep @ weights["hidden1"] + weights["hidden1_bias"])
    deep = torch.relu(deep @ weights["hidden2"] + weights["hidden2_bias"])
    return first + pairs + (deep @ weights["output"]).squeeze(1)


def autocast(precision: str, device: torch.device) -> torch.autocast:
    """For `logits`: matrix products in bfloat16 where `precision` asks for it."""
    is_on = precision == "bfloat16"
    if precision == "auto" and device.type == "cuda":
        is_on = torch.cuda.is_bf16_supported()
    return torch.autocast(device.type, torch.bfloat16, enabled=is_on)
