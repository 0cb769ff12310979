"""The agent's part of the trial, where the second process does not come far."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tidewheel_agent.agent_path import AUTOMATIC
from tidewheel_agent.automatic.scratch import Scratch
from tidewheel_agent.automatic.second_process import SecondProcess, TrialCommand
from tidewheel_agent.automatic.trial import Trial
from tidewheel_agent.supervision.script import Script

AFTER = {"step": 7, "state": {"w": "1"}, "written": []}


def tried(folder: Path, argv: list[str]) -> dict[str, Any]:
    """The verdict for the hooks, which is the service's, too."""
    scratch, notes = Scratch(folder / "second", ()), folder / "notes"
    scratch.folder.mkdir()
    notes.mkdir()
    (folder / "after-0.json").write_text(json.dumps(AFTER))
    environment = {**os.environ, "PYTHONPATH": str(AUTOMATIC)}
    command = TrialCommand(lambda _port: argv, environment, folder, scratch, str(folder / "base"))
    training = Script(["sleep", "60"], environment={}, directory=folder, on_line=lambda line: None)
    trial = Trial(folder, SecondProcess(folder, command), notes, attempt=1)
    try:
        while not trial.is_over:
            trial.check(training)
        assert training.poll() is None
    finally:
        trial.close()
        training.kill()
    verdict: dict[str, Any] = json.loads((folder / "verdict.json").read_text())
    noted = json.loads((notes / "tidewheel-automatic.json").read_text())["trial"]
    assert {**noted, **verdict} == noted
    return verdict


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (["/nowhere/python"], "the second process cannot be started (No such file or directory)"),
        (["sh", "-c", "exit 3"], "the second process ended with exit code 3"),
        (
            ["sh", "-c", "kill -TERM $$"],
            "the second process ended with exit code 143 (signal SIGTERM)",
        ),
        (
            ["sh", "-c", "echo no GPU is left; exit 1"],
            "the second process ended with exit code 1 (no GPU is left)",
        ),
    ],
)
def test_the_training_goes_on_untried(argv: list[str], reason: str, tmp_path: Path) -> None:
    assert tried(tmp_path, argv) == {"result": "untried", "reason": reason}


def test_other_values_are_refused_by_name(tmp_path: Path) -> None:
    outcome = json.dumps({"state": {"w": "2"}})
    argv = ["sh", "-c", f"echo '{outcome}' > second/outcome-0.json"]
    assert tried(tmp_path, argv) == {
        "result": "refused",
        "reason": "restored, it continues with other values in w",
    }
