"""The trial of save and restore in a second process, under the agent: real processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cluster import Cluster, running, wait_until
from sagemaker_host import make_host

SCRIPTS = Path(__file__).parent / "scripts"
VARIABLES = {
    "TIDEWHEEL_MODEL": "",
    "OMP_NUM_THREADS": "1",
    "TIDEWHEEL_AUTOMATIC_TRIAL_SECONDS": "0.5",
    "TIDEWHEEL_CHECKPOINT_SECONDS": "1",
    "STEPS": "600",
}
pytestmark = pytest.mark.slow


def host(base: Path, program: str, source: Path = SCRIPTS) -> Path:
    return make_host(
        base,
        source=source,
        hyperparameters={
            "sagemaker_program": program,
            "tidewheel_strategy": "single",
            "tidewheel_script": json.dumps({"checkpoint": "automatic"}),
        },
    )


def note(base: Path) -> dict[str, Any]:
    path = base / "checkpoints" / "tidewheel-automatic.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def await_trial(cluster: Cluster, base: Path, seconds: float = 60) -> dict[str, Any]:
    def is_over() -> bool:
        assert cluster.agents[0].poll() is None, cluster.log()
        return "trial" in note(base)

    wait_until(is_over, seconds, "the trial's end")
    return dict(note(base)["trial"])


def steps(base: Path) -> list[str]:
    return sorted(path.name for path in (base / "checkpoints").glob("step-*"))


def is_safe(base: Path) -> bool:
    """Whether a checkpoint is complete: its folder exists a moment before its marker does."""
    return any((base / "checkpoints").glob("step-*/COMPLETE.json"))


def test_a_trial_restores_to_the_same_bits_before_the_first_checkpoint(tmp_path: Path) -> None:
    base = host(tmp_path / "host", "slow_script.py")
    with running([base], **VARIABLES) as cluster:
        wait_until(lambda: "step 10 " in cluster.log(), 60, "step 10")
        assert steps(base) == []
        trial = await_trial(cluster, base)
        wait_until(lambda: is_safe(base), 60, "a checkpoint")
    assert (trial["result"], trial["reason"]) == ("passed", "")
    assert cluster.log().count("step 1 loss") == 1
    # What the trial itself read is no part of the script's path.
    with running([base], **VARIABLES) as cluster:
        wait_until(lambda: "training goes on" in cluster.log(), 60, "the resume")


def test_a_script_that_cannot_be_restored_trains_on_without_checkpoints(tmp_path: Path) -> None:
    base = host(tmp_path / "host", "hidden_script.py")
    with running([base], **VARIABLES) as cluster:
        trial = await_trial(cluster, base)
        wait_until(lambda: "no automatic checkpoints from step" in cluster.log(), 30, "the end")
        # The second process wrote a log of its own.
        written = (base / "code" / "log.txt").read_text().split()
    assert trial["result"] == "refused"
    assert trial["reason"]
    assert steps(base) == []
    assert written == [str(step + 1) for step in range(len(written))]
    assert len(written) > trial["step"]
    with running([base], **VARIABLES) as cluster:
        wait_until(lambda: cluster.log().count("step 2 ") == 2, 60, "step 2 again")
    assert "automatic checkpoints are off: their trial has failed in this run" in cluster.log()
    assert steps(base) == []
