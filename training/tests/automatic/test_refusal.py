"""What the hooks say of an error that keeps a script from being restored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tidewheel_automatic.journal import RefusedError
from tidewheel_automatic.refusal import is_of_host, meets_fake_tensor, reason_of
from tidewheel_automatic.sandbox import ProtectedFileError


def fake() -> torch.Tensor:
    with FakeTensorMode(allow_non_fake_inputs=False):
        return torch.ones(2)


@pytest.mark.parametrize(
    "use",
    [
        lambda: fake() + torch.ones(2),
        lambda: fake().sum().item(),
        lambda: fake().numpy(),
    ],
    ids=["with real data", "its value", "as an array"],
)
def test_a_tensor_that_was_not_restored_is_named(use: Callable[[], Any]) -> None:
    with pytest.raises(Exception) as raised:
        use()
    assert meets_fake_tensor(raised.value)
    assert reason_of(raised.value).startswith("it used a tensor that was not restored (")


def test_a_real_gradient_for_a_tensor_without_data_is_one_of_them() -> None:
    """As a script of PyKEEN got it from PyTorch."""
    text = (
        "attempting to assign a gradient with device type 'cpu' to a tensor with device type 'meta'"
    )
    assert meets_fake_tensor(RuntimeError(text))


def test_an_error_of_the_script_keeps_its_name() -> None:
    assert reason_of(ValueError("no label")) == "ValueError: no label"
    assert reason_of(RefusedError("w is not there")) == "w is not there"


@pytest.mark.parametrize(
    ("error", "is_the_hosts"),
    [
        (MemoryError(), True),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (ProtectedFileError("the script writes /log, which belongs to the training"), True),
        (PermissionError("/log"), False),
        (RefusedError("the script reads more than before the checkpoint"), False),
    ],
)
def test_some_errors_tell_nothing_of_the_script(error: Exception, is_the_hosts: bool) -> None:
    assert is_of_host(error) is is_the_hosts
