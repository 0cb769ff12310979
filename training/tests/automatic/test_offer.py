"""When the agent offers automatic checkpoints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tidewheel_agent.automatic.watch import Offer
from tidewheel_agent.checkpoints.checkpoint import Checkpoint
from tidewheel_agent.supervision.script_source import read_source

_LOOP = "import torch\nloss = model(x)\nloss.backward()\noptimizer.step()\n"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def offered(folder: Path) -> bool:
    path = folder / "tidewheel-automatic.json"
    return path.exists() and "offer" in json.loads(path.read_text())


def test_a_script_that_saves_nothing_for_ten_minutes_gets_the_offer_once(tmp_path: Path) -> None:
    clock = Clock()
    offer = Offer(tmp_path, 1, clock)
    clock.now = 599
    offer.check(None)
    assert not offered(tmp_path)
    clock.now = 601
    offer.check(None)
    assert offered(tmp_path)
    (tmp_path / "tidewheel-automatic.json").write_text('{"offer": {"attempt": 1}}')
    again = Offer(tmp_path, 2, clock)
    clock.now = 2000
    again.check(None)
    assert json.loads((tmp_path / "tidewheel-automatic.json").read_text())["offer"] == {
        "attempt": 1
    }


def test_a_script_that_saves_gets_no_offer(tmp_path: Path) -> None:
    clock = Clock()
    offer = Offer(tmp_path, 1, clock)
    offer.check(Checkpoint(1, "model.pt", None, None))
    clock.now = 601
    offer.check(None)
    assert not offered(tmp_path)


@pytest.mark.parametrize(
    ("source", "suits"),
    [
        (_LOOP, True),
        ("from torch import nn\nloss.backward()\n", True),
        ("import torch\nmodel(x)\n", False),
        ("import lightning\n" + _LOOP, False),
        ("from transformers import Trainer\n" + _LOOP, False),
        (_LOOP + "model = torch.compile(model)\n", False),
        ("import tidewheel\n" + _LOOP, False),
    ],
)
def test_only_a_plain_loop_of_pytorch_can_be_saved(
    source: str, suits: bool, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(source)
    assert read_source(tmp_path).has_plain_loop == suits
