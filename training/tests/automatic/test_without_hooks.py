"""A run whose script cannot be restored: its later attempts get no hooks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from automatic_runs import automatic_host
from cluster import running
from tidewheel_agent.automatic.note import reason_without_hooks

REFUSED = {"attempt": 1, "result": "refused"}
STOPPED = {"attempt": 1, "step": 3, "reason": "it trains twice"}


@pytest.mark.parametrize(
    ("note", "reason"),
    [
        ({}, None),
        ({"trial": {"attempt": 1, "result": "passed", "reason": ""}}, None),
        ({"trial": {**REFUSED, "reason": "w is not there"}}, "w is not there"),
        ({"trial": REFUSED}, "their trial has failed"),
        ({"stopped": STOPPED}, None),
        ({"stopped": {**STOPPED, "forGood": True}}, "it trains twice"),
        (
            {"stopped": {**STOPPED, "forGood": "no"}, "trial": {"attempt": 1, "result": "untried"}},
            None,
        ),
        ({"stopped": "forGood"}, None),
    ],
)
def test_a_note_takes_the_hooks_for_good(
    note: dict[str, Any], reason: str | None, tmp_path: Path
) -> None:
    (tmp_path / "tidewheel-automatic.json").write_text(json.dumps(note))
    assert reason_without_hooks(tmp_path) == reason


@pytest.mark.slow
def test_a_script_that_trains_twice_gets_no_hooks_again(tmp_path: Path) -> None:
    base = automatic_host(tmp_path / "host", "pool_script.py")
    variables = {
        "TIDEWHEEL_MODEL": "",
        "OMP_NUM_THREADS": "1",
        "TIDEWHEEL_AUTOMATIC_STEPS": "5",
        "WORK": "trains",
    }
    checkpoints, logs = base / "checkpoints", list[str]()
    for _ in range(2):
        with running([base], **variables) as cluster:
            assert cluster.wait() == [0]
            logs.append(cluster.log())
    stopped = json.loads((checkpoints / "tidewheel-automatic.json").read_text())["stopped"]
    assert stopped["forGood"] is True
    assert f"no automatic checkpoints from step 4 on: {stopped['reason']}" in logs[0]
    assert f"automatic checkpoints are off in this run: {stopped['reason']}" in logs[1]
    assert "no automatic checkpoints from step" not in logs[1].removeprefix(logs[0])
    assert list(checkpoints.glob("step-*")) == []
    assert logs[1].count("trained\n") == 2
