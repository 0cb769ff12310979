"""DeepFM in PyTorch, as a function of its weights (https://arxiv.org/abs/1703.04247)."""

from collections.abc import Sequence

import torch

from common.cores import bind_to_cores
from config import Config

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


def autocast(kind: str, device: torch.device) -> torch.autocast:
    """For `logits`: matrix products in `kind`."""
    narrow = torch.float16 if kind == "float16" else torch.bfloat16
    found = torch.autocast(device.type, narrow, enabled=kind != "float32")
    # Older releases, such as Horovod's, only warn that they have no float16 on CPUs.
    if kind != "float32" and not found._enabled:
        raise ValueError(
            f"precision={kind}: PyTorch {torch.__version__} does not compute it on {device.type}: "
            "choose bfloat16, float32 or auto"
        )
    return found


def unscale(gradients: Sequence[torch.Tensor], factor: float) -> bool:
    """Divides gradients of a loss that was multiplied by `factor`. False where one overflowed."""
    for gradient in gradients:
        gradient.div_(factor)
    dense = [each.coalesce().values() if each.is_sparse else each for each in gradients]
    return all(bool(each.isfinite().all()) for each in dense)


def use_cpus(config: Config, local_rank: int, local_ranks: int) -> None:
    """Before the first operation."""
    if config.affinity == "cores":
        bind_to_cores(local_rank, local_ranks)
    torch.set_num_threads(config.threads)
    if config.inter_threads:
        torch.set_num_interop_threads(config.inter_threads)


def capability_of(device: torch.device) -> tuple[int, int] | None:
    return torch.cuda.get_device_capability(device) if device.type == "cuda" else None
