"""Whether another host explains how a service ended (a Ray node, a parameter server)."""

from __future__ import annotations

import pytest

from tidewheel_agent.gang.state import PeerFailure
from tidewheel_agent.lifecycle.conclude import peer_failure_behind
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
