"""TorchScript compiles code that calls a replaced function of PyTorch."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
import torch

from tidewheel_automatic.torchscript import replace


def equal(a: torch.Tensor) -> bool:
    return torch.equal(a, a)


def close(a: torch.Tensor) -> bool:
    return torch.allclose(a, a)


def nonzero(a: torch.Tensor) -> bool:
    return torch.is_nonzero(a)


def seeded(a: torch.Tensor) -> bool:
    torch.manual_seed(7)
    return bool(a > 0)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*")
@pytest.mark.parametrize(
    ("name", "caller"),
    [("equal", equal), ("allclose", close), ("is_nonzero", nonzero), ("manual_seed", seeded)],
)
def test_a_replaced_function_is_compiled_as_the_original(
    name: str, caller: Callable[[torch.Tensor], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = getattr(torch, name)
    monkeypatch.setattr(torch, name, original)  # It is put back at the end.
    replace(torch, name, functools.partial(original))
    assert torch.jit.script(caller)(torch.ones(1))
