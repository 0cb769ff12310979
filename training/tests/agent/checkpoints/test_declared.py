"""`training.checkpoint` overrules every guess."""

from __future__ import annotations

import time
from pathlib import Path

import torch

from tidewheel_agent.checkpoints.frameworks import FrameworkCheckpoints
from tidewheel_agent.checkpoints.log_progress import LogProgress
from tidewheel_agent.checkpoints.progress import ProgressReporter
from tidewheel_agent.configuration.settings import CheckpointRules
from tidewheel_agent.declared_pattern import DeclaredPattern


def saved(path: Path, **more: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"w": torch.ones(90), **more}, path)
    return path


def test_the_pattern_and_the_expression_decide(tmp_path: Path) -> None:
    saved(tmp_path / "out" / "e3_of_90.pt", step=7)
    saved(tmp_path / "out" / "best.pt", step=5000)
    rules = CheckpointRules(
        tmp_path / "out", pattern="e*.pt", step=DeclaredPattern("step", r"e(\d+)_")
    )
    found = FrameworkCheckpoints(tmp_path, rules=rules).find_last()
    assert found is not None and (found.name, found.step) == ("out/e3_of_90.pt", 3)
    by_name = CheckpointRules(tmp_path / "out", pattern="e*.pt")
    found = FrameworkCheckpoints(tmp_path, rules=by_name).find_last()
    assert found is not None and found.step == 90


def test_a_declared_file_of_a_known_format_must_be_whole(tmp_path: Path) -> None:
    path = saved(tmp_path / "epoch_2.pt")
    path.write_bytes(path.read_bytes()[:-200])
    rules = CheckpointRules(tmp_path, pattern="epoch_*.pt")
    assert FrameworkCheckpoints(tmp_path, rules=rules).find_last() is None


def test_only_the_declared_number_is_kept(tmp_path: Path) -> None:
    rules = CheckpointRules(tmp_path, pattern="epoch_*.pt", keep=2)
    reporter = ProgressReporter(tmp_path, leader=True, log_progress=LogProgress(), rules=rules)
    reporter.script_started(time.time(), dict)
    for epoch in range(1, 5):
        saved(tmp_path / f"epoch_{epoch}.pt")
    damaged = saved(tmp_path / "epoch_0.pt")
    damaged.write_bytes(b"PK")
    other = saved(tmp_path / "best.pt")
    frameworks = FrameworkCheckpoints(tmp_path, rules=rules)
    frameworks.script_started(time.time())
    assert frameworks.find_last() is not None
    assert len(list(tmp_path.glob("*.pt"))) == 6
    newest = reporter.check()
    assert newest is not None and newest.step == 4
    left = sorted(path.name for path in tmp_path.glob("*.pt"))
    assert left == ["best.pt", "epoch_0.pt", "epoch_3.pt", "epoch_4.pt"]
    assert damaged.exists() and other.exists()
