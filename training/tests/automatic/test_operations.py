"""What is remembered of operations on fake tensors, against what PyTorch's fake tensors give."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._pytree import tree_leaves

from tidewheel_automatic.fake_tensors import ReplayMode

Operation = Callable[[Any, Any], Any]

OPERATIONS: dict[str, Operation] = {
    "a number that is added": lambda x, _: x + 2,
    "a number that promotes": lambda x, _: (x > 0) * 0.5,
    "a parameter that multiplies": lambda x, weight: torch.nn.functional.linear(x, weight),
    "a parameter's view": lambda _, weight: weight.detach().t(),
    "a slice": lambda x, _: x[1:3, ::2],
    "several views": lambda x, _: x.split([1, 3]),
    "several results": lambda x, _: x.max(dim=1),
    "a list": lambda x, _: torch.cat([x, x, x], dim=1),
    "a strided result": lambda x, _: x.t().contiguous() + x.t(),
    "another dtype": lambda x, _: x.to(torch.float64),
    "a constant among others": lambda x, _: x * torch.tensor([2.0]),
    "constants alone": lambda _x, _: torch.tensor([2.0]) + 1,
    "random numbers": lambda x, _: torch.multinomial(x.softmax(-1), 1),
}


def described(result: object, argument: torch.Tensor) -> list[object]:
    storage = argument.untyped_storage()._cdata
    return [
        (
            tuple(leaf.shape),
            leaf.stride(),
            leaf.storage_offset(),
            leaf.dtype,
            leaf.fake_device,
            leaf.constant,
            leaf.untyped_storage()._cdata == storage,
        )
        for leaf in tree_leaves(result)
        if isinstance(leaf, FakeTensor)
    ]


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_remembered_result_is_that_of_a_fake_tensor(name: str) -> None:
    operation, real = OPERATIONS[name], torch.randn(4, 6)
    weight = torch.nn.Parameter(torch.randn(3, 6))
    with FakeTensorMode(allow_non_fake_inputs=True) as fake:
        x = fake.from_tensor(real)
        expected = described(operation(x, weight), x)
    mode = ReplayMode()
    with mode:
        given = torch.empty_like(real)
        results = [operation(given, weight) for _ in range(3)]
    assert expected
    for result in results:
        assert described(result, given) == expected
    leaves = tree_leaves(results)
    assert len({id(leaf) for leaf in leaves}) == len(leaves)


def test_other_shapes_and_numbers_give_other_results() -> None:
    with ReplayMode():
        x, other = torch.empty(4, 6), torch.empty(2, 5)
        shapes = [tuple(each.sum(axis).shape) for each in (x, other) for axis in (0, 1, 0)]
    assert shapes == [(6,), (4,), (6,), (5,), (2,), (5,)]


def test_a_result_takes_the_data_of_no_other() -> None:
    with ReplayMode():
        x = torch.empty(4)
        first, second = x + 1, x + 1
        first.resize_(9)
    assert (first.shape, second.shape) == ((9,), (4,))


def test_views_of_real_and_of_fake_tensors_are_apart() -> None:
    real = torch.zeros(4, 6)
    with ReplayMode():
        fake = torch.empty(4, 6)
        views = [each.t() for each in (fake, real, fake, real)]
    assert all(isinstance(view, FakeTensor) and view.shape == (6, 4) for view in views)


def test_a_deep_copy_of_a_fake_tensor_keeps_its_mode() -> None:
    with ReplayMode():
        first = torch.nn.Linear(2, 3)(torch.ones(1, 2))
        second = copy.deepcopy(first.detach())
        assert second.fake_mode is first.fake_mode
        assert (first + second).shape == (1, 3)
