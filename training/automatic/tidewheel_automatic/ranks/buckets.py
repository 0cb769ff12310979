"""The buckets in which DDP sums gradients, arranged as they were when a step was saved.

DDP arranges them again after its first step, by the order in which gradients come. Another
arrangement rounds the sums of three ranks or more differently, so a resumed script would come to
other bits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import torch

from ..fake_tensors import is_fake

_LEAST_RANKS = 3
"""Two numbers have one sum."""


def orders(replicas: Sequence[Any], ranks: int) -> list[list[int]]:
    """The numbers of the parameters of each module, as its buckets hold them; empty before."""
    if ranks < _LEAST_RANKS:
        return []
    try:
        return [_order(replica) for replica in replicas]
    except AttributeError:  # Another release of PyTorch: a resume rounds differently.
        return []


def arrange(replicas: Sequence[Any], saved: Sequence[list[int]]) -> bool:
    """On every rank at once, before the state is restored: this changes the gradients.

    False where the first steps after it may round otherwise.
    """
    is_exact = True
    for replica, order in zip(replicas, saved, strict=False):
        parameters, are_sparse = replica._build_params_for_reducer()
        is_plain = not (
            replica.static_graph or replica.mixed_precision or replica._comm_hooks
        ) and not any(are_sparse)
        fits = sorted(order) == list(range(len(parameters)))
        if fits and is_plain and not any(map(is_fake, parameters)):
            # PyTorch computes what was made last first, and DDP notes the order.
            roots = [parameters[number].sum() for number in reversed(order)]
            replica.reducer.prepare_for_backward([])
            torch.autograd.backward(roots)
        elif order:
            is_exact = False
    return is_exact


def _order(replica: Any) -> list[int]:
    data = replica._get_ddp_logging_data()
    text = str(data.get("rebuilt_per_bucket_param_indices", ""))
    return [int(number) for number in re.findall(r"\d+", text)]
