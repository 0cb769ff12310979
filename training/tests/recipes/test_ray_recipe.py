"""The ray recipe on a real cluster: who prepares where no host helps.

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
    """Samples by host, where one host of so many CPUs is all there is."""
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
        said = json.loads((attempt.leader / "model" / "metrics.json").read_text())
    finally:
        attempt.close()
    assert sum(said["preparedOn"].values()) == said["totalSteps"] * 64
    counts: dict[str, int] = said["preparedOn"]
    return counts


@pytest.mark.parametrize("cpus", [1, 2], ids=["beside its training", "on its spare CPU"])
def test_one_host_without_helpers_prepares(cpus: int, tmp_path: Path) -> None:
    assert set(prepared_on(tmp_path, cpus)) == set(ONE)
