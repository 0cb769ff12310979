"""The ray recipe on a real cluster without helpers.

Minutes, in `.venv-ray`: `pytest -m heavy tests/recipes/test_ray_recipe.py`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from catalogue import ONE, digit_data
from heavy import python_of
from hosts import TRAINING, Attempt, JobOnThisMachine

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]


def prepared_on(tmp_path: Path, cpus: int) -> dict[str, int]:
    """How many samples each host prepares in a cluster of one host with so many CPUs."""
    job = JobOnThisMachine(
        strategy="ray",
        source=TRAINING / "recipes" / "ray",
        program="train.py",
        data=digit_data(tmp_path),
        python=python_of("ray", "ray"),
        hosts=ONE,
        hyperparameters={"trainer": "none", "epochs": 4},
        environment={"TIDEWHEEL_CPUS": str(cpus)},
    )
    attempt = Attempt(tmp_path / "job", job)
    try:
        attempt.start()
        assert attempt.wait(600) == [0], attempt.logs()
        metrics = json.loads((attempt.leader / "model" / "metrics.json").read_text())
    finally:
        attempt.close()
    assert sum(metrics["preparedOn"].values()) == metrics["totalSteps"] * 64
    counts: dict[str, int] = metrics["preparedOn"]
    return counts


@pytest.mark.parametrize("cpus", [1, 2], ids=["without a spare CPU", "with a spare CPU"])
def test_a_single_host_prepares_its_own_data(cpus: int, tmp_path: Path) -> None:
    assert set(prepared_on(tmp_path, cpus)) == set(ONE)
