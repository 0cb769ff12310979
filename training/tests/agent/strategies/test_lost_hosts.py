"""kill -9 of a host: the others end soon with the reason, and the next attempt reaches the result.

Minutes, in the environments of the recipes:
`pytest -m heavy tests/agent/strategies/test_lost_hosts.py -s`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from heavy import recipe_of, undisturbed
from interrupted import lose_host, run_whole, same_result

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(3600)]
# The agent gives a script ten seconds to end by itself and three more after SIGTERM. The rest is
# for a loaded machine.
WITHIN_SECONDS = 90.0
CASES = [
    pytest.param("mpi", 0, id="mpi: the first host"),
    pytest.param("mpi", 1, id="mpi: another host"),
    pytest.param("parameter-server", 0, id="parameter-server: the chief's host"),
    pytest.param("parameter-server", 1, id="parameter-server: a worker's and its parameters'"),
    pytest.param("data-service", 0, id="data-service: the host that trains"),
    pytest.param("data-service", 2, id="data-service: a helper"),
    pytest.param("ray-two", 0, id="ray: the head's host"),
    pytest.param("ray-two", 1, id="ray: another host that trains"),
    pytest.param("ray-two", 2, id="ray: the helper"),
]


@pytest.mark.parametrize(("name", "host"), CASES)
def test_after_a_lost_host_the_next_attempt_succeeds(
    name: str, host: int, work: Path, tmp_path: Path
) -> None:
    recipe = recipe_of(name, work)
    step = recipe.interrupt_from + recipe.total // 4
    loss = lose_host(recipe, tmp_path / "lost", host, step=step, within=WITHIN_SECONDS)
    print(f"\n{name}, host {host}: the others ended after {loss.seconds} s with {loss.codes}")
    # The platform takes 143 for a stop, not for a failure.
    assert set(loss.codes) == {143}
    assert all(text.startswith("Interrupted: host ") for text in loss.failures)
    assert len(loss.failures) == len(loss.codes)
    assert loss.left == 0
    assert loss.step >= step
    resumed = run_whole(recipe, tmp_path / "resumed", loss.saved)
    assert same_result(recipe, undisturbed(name, work), resumed)
