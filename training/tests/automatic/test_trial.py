"""The trial of save and restore in a second process, under the agent: real processes."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from automatic_runs import SCRIPTS, automatic_host, note, second_processes, steps
from cluster import Cluster, running, wait_until
from warm_python import REPLAYS, warm_torch

VARIABLES = {
    "TIDEWHEEL_MODEL": "",
    "OMP_NUM_THREADS": "1",
    "TIDEWHEEL_AUTOMATIC_TRIAL_SECONDS": "0.5",
    "TIDEWHEEL_CHECKPOINT_SECONDS": "1",
    "STEPS": "600",
}
pytestmark = pytest.mark.slow


def await_trial(cluster: Cluster, base: Path, seconds: float = 60) -> dict[str, Any]:
    def is_over() -> bool:
        assert cluster.agents[0].poll() is None, cluster.log()
        return "trial" in note(base)

    wait_until(is_over, seconds, "the trial's end")
    return dict(note(base)["trial"])


def complete(base: Path) -> list[str]:
    """A checkpoint's folder exists a moment before its marker does."""
    markers = (base / "checkpoints").glob("step-*/COMPLETE.json")
    return [marker.parent.name for marker in markers]


def is_safe(base: Path) -> bool:
    return complete(base) != []


def losses(text: str) -> dict[str, str]:
    """By step. Each step is there once."""
    lines = re.findall(r"^step (\d+) loss (\S+)\n", text, re.MULTILINE)
    found = dict(lines)
    assert len(found) == len(lines)
    return found


def test_a_trial_restores_to_the_same_bits_before_the_first_checkpoint(tmp_path: Path) -> None:
    base = automatic_host(tmp_path / "host", "slow_script.py")
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
    base = automatic_host(tmp_path / "host", "hidden_script.py")
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
    assert f"automatic checkpoints are off in this run: {trial['reason']}" in cluster.log()
    assert steps(base) == []


def test_a_loop_that_is_not_restored_in_a_later_epoch_ends_the_checkpoints(tmp_path: Path) -> None:
    base = automatic_host(tmp_path / "host", "later_script.py")
    with running([base], **VARIABLES, PAUSE="0.03") as cluster:
        first = await_trial(cluster, base)
        said = "no automatic checkpoints from step"
        wait_until(lambda: said in cluster.log(), 90, "the later trial's verdict")
        assert cluster.agents[0].poll() is None
    later = note(base)["trial"]
    assert (first["result"], later["result"]) == ("passed", "refused")
    assert "it used a tensor that was not restored" in later["reason"]
    assert first["step"] <= 24 < later["step"]
    assert steps(base) == []


def test_a_killed_trial_leaves_the_training_alone_and_says_why(tmp_path: Path) -> None:
    base = automatic_host(tmp_path / "host", "slow_script.py")
    with running([base], **VARIABLES) as cluster:
        wait_until(lambda: second_processes(base) != [], 60, "the second process")
        os.kill(second_processes(base)[0], signal.SIGKILL)
        trial = await_trial(cluster, base)
        wait_until(lambda: is_safe(base), 60, "a checkpoint")
        assert cluster.agents[0].poll() is None
    assert trial["result"] == "untried"
    assert trial["reason"].startswith(
        "the second process ended with exit code 137 (killed by SIGKILL: "
    )
    trained = losses(cluster.log())
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PAUSE": "0", "STEPS": str(len(trained))}
    alone = warm_torch(*REPLAYS).run(str(SCRIPTS / "slow_script.py"), env=environment)
    assert trained == losses(alone.stdout)


def test_a_script_that_cannot_be_resumed_later_begins_again(tmp_path: Path) -> None:
    base = automatic_host(tmp_path / "host", "unreplayable_script.py")
    with running([base], **VARIABLES) as cluster:
        assert await_trial(cluster, base)["result"] == "passed"
        wait_until(lambda: any(int(each[5:]) > 30 for each in complete(base)), 90, "step 31 safe")
    with running([base], **VARIABLES) as cluster:
        wait_until(lambda: cluster.log().count("step 2 loss") == 2, 60, "step 2 again")
        assert cluster.progress().get("step") is None
    trial = note(base)["trial"]
    assert trial["result"] == "refused"
    assert trial["step"] > 30
    assert "begins again, since it could not be resumed after step" in trial["reason"]
    assert "DataDependentOutputException" in trial["reason"]
    assert "begins again without automatic checkpoints: it could not be" in cluster.log()
    # Later attempts do not try again, and what was saved is not lost.
    assert steps(base) == []
    kept = base / "checkpoints" / "tidewheel-set-aside"
    assert any(kept.glob("step-*/COMPLETE.json"))
    with running([base], **VARIABLES) as cluster:
        wait_until(lambda: cluster.log().count("step 2 loss") == 3, 60, "step 2 a third time")
    assert cluster.log().count("begins again without automatic checkpoints") == 1
