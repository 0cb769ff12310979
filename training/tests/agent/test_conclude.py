"""Whether another host explains how a script or a service (a Ray node) ended."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tidewheel_agent.failure_file import LogTail
from tidewheel_agent.gang.state import PeerFailure
from tidewheel_agent.lifecycle.conclude import judge, peer_failure_behind
from tidewheel_agent.supervision.supervisor import ScriptEnd

LOST = PeerFailure("algo-1", None)
FAILED = PeerFailure("algo-1", 1, "the script failed")


def end(code: int, failure: PeerFailure | None, *, stopped: bool = False) -> ScriptEnd:
    return ScriptEnd(script_code=code, was_stopped=stopped, newest=None, peer_failure=failure)


@pytest.mark.parametrize("code", [0, 1, 137])
def test_a_lost_host_explains_any_end_of_a_service(code: int) -> None:
    assert peer_failure_behind(end(code, LOST)) is LOST


def test_a_failed_host_explains_a_service_that_ended_well() -> None:
    assert peer_failure_behind(end(0, FAILED)) is FAILED


def test_a_service_that_failed_itself_explains_its_own_end() -> None:
    assert peer_failure_behind(end(1, FAILED)) is None


def test_after_a_stop_no_other_host_is_the_cause() -> None:
    assert peer_failure_behind(end(1, LOST, stopped=True)) is None
    assert peer_failure_behind(end(0, None)) is None


@pytest.mark.parametrize(("failure", "code"), [(LOST, 143), (FAILED, 1), (None, 1)])
def test_what_a_script_says_of_a_lost_host_is_no_failure(
    failure: PeerFailure | None, code: int, tmp_path: Path
) -> None:
    tail = LogTail()
    for line in ("Traceback (most recent call last):", '  File "train.py", line 3', "KeyError: 7"):
        tail.add(line)
    job: Any = SimpleNamespace(program="train.py", current_host="algo-2", is_leader=True)
    prepared: Any = SimpleNamespace(tail=tail, files=SimpleNamespace(automatic=tmp_path))
    assert judge(job, end(1, failure), prepared).exit_code == code
