"""Which arithmetic a recipe takes, and how its loss is scaled, on simulated GPUs and on CPUs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from common.arithmetic import kind_for
from common.precision import Precision
from config import Config

LARGE, SMALL = 1e10, 1e6
EXAMPLE = torch.ones(2, 4)


@pytest.mark.parametrize(
    ("capability", "expected"),
    [
        (None, "float32"),
        ((6, 1), "float32"),
        ((7, 0), "float16"),
        ((7, 5), "float16"),
        ((8, 0), "bfloat16"),
        ((9, 0), "bfloat16"),
    ],
)
def test_auto_is_what_the_device_computes(
    capability: tuple[int, int] | None, expected: str
) -> None:
    assert kind_for("auto", capability, LARGE) == expected
    assert kind_for("auto", capability, SMALL) == "float32"
    assert kind_for("bfloat16", capability, SMALL) == "bfloat16"


def test_an_unknown_precision_names_the_others() -> None:
    with pytest.raises(ValueError, match="precision='half': choose one of auto, float32, bfloat16"):
        Config(precision="half")


def network() -> nn.Linear:
    torch.manual_seed(3)
    return nn.Linear(4, 3)


@pytest.mark.filterwarnings("ignore:.*GradScaler is enabled")
def test_a_v100_takes_float16_only_for_large_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device: (7, 0))
    with FakeTensorMode():
        large, example = nn.Linear(4096, 4096, device="cuda"), torch.zeros(2, 4096, device="cuda")
        names = [
            Precision.choose("auto", large, example, rows, scales=scales).name
            for rows, scales in ((64, True), (64, False), (1, True))
        ]
    assert names == ["float16", "float32", "float32"]


def trained(precision: Precision, model: nn.Linear, steps: int, large: float = 1.0) -> torch.Tensor:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        with precision.autocast():
            loss = model(EXAMPLE).float().square().sum() * large
        precision.backward(loss)
        precision.step(optimizer)
    return model.weight.detach().clone()


def test_float16_learns_what_float32_learns() -> None:
    halved = network()
    found = trained(Precision.choose("float16", halved, EXAMPLE, 2), halved, 20)
    whole = network()
    expected = trained(Precision.choose("float32", whole, EXAMPLE, 2), whole, 20)
    torch.testing.assert_close(found, expected, rtol=0.02, atol=0.005)
    assert not torch.equal(found, expected)


def test_a_step_that_overflows_is_left_out() -> None:
    model = network()
    precision = Precision.choose("float16", model, EXAMPLE, 2)
    assert torch.equal(trained(precision, model, 1, large=1e6), network().weight)
    assert precision.state_dict()["scale"] == 32_768


def test_the_scale_is_in_the_checkpoint() -> None:
    model = network()
    precision = Precision.choose("float16", model, EXAMPLE, 2)
    trained(precision, model, 1, large=1e6)
    resumed = Precision.choose("float16", model, EXAMPLE, 2)
    resumed.load_state_dict(precision.state_dict())
    assert resumed.state_dict() == precision.state_dict()


@pytest.mark.parametrize(("before", "after"), [("bfloat16", "float16"), ("float16", "bfloat16")])
def test_a_checkpoint_of_another_gpu_loads(before: str, after: str) -> None:
    saved: dict[str, Any] = Precision.choose(before, network(), EXAMPLE, 2).state_dict()
    resumed = Precision.choose(after, network(), EXAMPLE, 2)
    expected = resumed.state_dict()
    resumed.load_state_dict(saved)
    assert resumed.state_dict() == expected
