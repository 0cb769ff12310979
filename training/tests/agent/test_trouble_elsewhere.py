"""A service of the script (a Ray node, a parameter server) ends because of another host, or not."""

from __future__ import annotations

import pytest

from tidewheel_agent.gang.gang import Trouble
from tidewheel_agent.main import trouble_elsewhere
from tidewheel_agent.supervision.supervisor import End

LOST = Trouble("algo-1", None)
FAILED = Trouble("algo-1", 1, "the script failed")


def end(code: int, trouble: Trouble | None, *, stopped: bool = False) -> End:
    return End(script_code=code, stopped=stopped, newest=None, trouble=trouble)


@pytest.mark.parametrize("code", [0, 1, 137])
def test_whatever_a_service_says_after_a_host_was_lost_the_loss_is_the_cause(code: int) -> None:
    assert trouble_elsewhere(end(code, LOST)) is LOST


def test_a_service_that_ended_well_tells_what_befell_those_it_served() -> None:
    assert trouble_elsewhere(end(0, FAILED)) is FAILED


def test_a_service_that_failed_like_another_host_speaks_for_itself() -> None:
    assert trouble_elsewhere(end(1, FAILED)) is None


def test_after_a_stop_nothing_is_trouble() -> None:
    assert trouble_elsewhere(end(1, LOST, stopped=True)) is None
    assert trouble_elsewhere(end(0, None)) is None
