"""Digests of what a checkpoint would hold."""

from __future__ import annotations

import hashlib

import pytest
import torch

from tidewheel_automatic.state.fingerprint import add_to_digest


def digest(tensor: torch.Tensor) -> str:
    made = hashlib.sha256()
    add_to_digest(made.update, tensor)
    return made.hexdigest()


@pytest.mark.parametrize(
    ("tensor", "plain"),
    [
        (torch.ones(1).as_strided((1,), (0,)), torch.ones(1)),
        (torch.ones(2).expand(3, 2), torch.ones(3, 2)),
        (torch.arange(6.0).view(2, 3).t(), torch.tensor([[0.0, 3], [1, 4], [2, 5]])),
        (torch.arange(12)[3:5], torch.tensor([3, 4])),
    ],
    ids=["one element", "expanded", "transposed", "a part"],
)
def test_a_digest_does_not_depend_on_strides(tensor: torch.Tensor, plain: torch.Tensor) -> None:
    assert digest(tensor) == digest(plain)
    assert digest(tensor) != digest(plain + 1)
