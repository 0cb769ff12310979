"""Which hosts of a real cluster prepare what the ray recipe trains on.

Minutes, in `.venv-ray`: `pytest -m heavy tests/recipes/test_ray_recipe.py`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from catalogue import ONE, TWO, digit_data
from heavy import python_of
from hosts import TRAINING, Attempt, JobOnThisMachine

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]


def prepared_on(
    tmp_path: Path, cpus: int, hosts: tuple[str, ...] = ONE, **settings: object
) -> dict[str, int]:
    """How many samples each host prepares, where each has so many CPUs and the first one trains."""
    job = JobOnThisMachine(
        strategy="ray",
        source=TRAINING / "recipes" / "ray",
        program="train.py",
        data=digit_data(tmp_path),
        python=python_of("ray", "ray"),
        hosts=hosts,
        groups={"train": hosts[:1], "helpers": hosts[1:]} if len(hosts) > 1 else {"train": hosts},
        hyperparameters={"trainer": "none", "epochs": 4, **settings},
        environment={"TIDEWHEEL_CPUS": str(cpus)},
    )
    attempt = Attempt(tmp_path / "job", job)
    try:
        attempt.start()
        assert attempt.wait(600) == [0] * len(hosts), attempt.logs()
        metrics = json.loads((attempt.leader / "model" / "metrics.json").read_text())
    finally:
        attempt.close()
    assert sum(metrics["preparedOn"].values()) == metrics["totalSteps"] * 64
    counts: dict[str, int] = metrics["preparedOn"]
    return counts


@pytest.mark.parametrize("cpus", [1, 2], ids=["without a spare CPU", "with a spare CPU"])
def test_a_single_host_prepares_its_own_data(cpus: int, tmp_path: Path) -> None:
    assert set(prepared_on(tmp_path, cpus)) == set(ONE)


def test_the_accelerator_may_resize_and_blur(tmp_path: Path) -> None:
    """Helpers then only decode."""
    counts = prepared_on(tmp_path, 1, TWO, side=16, blurs=2, prepare_on="accelerator")
    assert set(counts) == set(TWO[1:])


def test_spare_cpus_prepare_beside_those_of_a_helper(tmp_path: Path) -> None:
    """Two CPUs of the training host are spare, and preparing takes longer than training."""
    counts = prepared_on(tmp_path, 3, TWO, side=112, blurs=10, patch=14, width=16, depth=1)
    assert set(counts) == set(TWO)
    # Neither is there by chance alone.
    assert min(counts.values()) > sum(counts.values()) / 10
