"""When the agent offers automatic checkpoints."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from tidewheel_agent.automatic.watch import Offer, without_refused_hooks
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


@pytest.mark.parametrize(
    ("files", "other"),
    [
        ({"train.py": "import jax\nimport orbax.checkpoint\n"}, "jax"),
        ({"train.py": "from sklearn import svm\n"}, "sklearn"),
        ({"train.py": "import jax\nimport torch\n"}, None),
        ({"train.py": "import tensorflow\n", "requirements.txt": "torch==2.9\n"}, None),
        ({"train.py": "from package.main import run\n"}, None),
    ],
)
def test_a_script_of_another_framework_is_told_at_once(
    files: dict[str, str], other: str | None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, notes = tmp_path / "code", tmp_path / "checkpoints"
    for folder in (code, notes):
        folder.mkdir()
    for name, text in files.items():
        (code / name).write_text(text)
    job = SimpleNamespace(checkpoint_dir=notes, code_dir=code, is_leader=True, agent_parameters={})
    given = {"TIDEWHEEL_AUTOMATIC_DIR": "x", "PATH": "y"}
    kept = without_refused_hooks(job, given)  # type: ignore[arg-type]
    assert ("TIDEWHEEL_AUTOMATIC_DIR" in kept) == (other is None)
    if other is not None:
        reason = f"they need PyTorch, and the script imports {other}"
        assert f"automatic checkpoints are off in this run: {reason}" in capfd.readouterr().out
        note = json.loads((notes / "tidewheel-automatic.json").read_text())
        assert note["trial"]["result"] == "refused"
