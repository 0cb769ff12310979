"""A run resumes with another number of hosts: the same steps on the same samples, except rounding.

Minutes, in the recipes' own environments: `pytest -m heavy tests/recipes/test_another_world.py -s`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from heavy import recipe_of, undisturbed
from hosts import JobOnThisMachine
from interrupted import run_interrupted, run_whole

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(3600)]
Change = Callable[[JobOnThisMachine], JobOnThisMachine]


def one_host(job: JobOnThisMachine) -> JobOnThisMachine:
    return replace(job, hosts=job.hosts[:1])


def one_training_host(job: JobOnThisMachine) -> JobOnThisMachine:
    """Keeps one host that trains and one helper."""
    hosts = (job.hosts[0], job.hosts[-1])
    return replace(job, hosts=hosts, groups={"train": hosts[:1], "helpers": hosts[1:]})


CASES = [
    pytest.param("lm", one_host, 0.02, id="lm: 2 hosts, then 1"),
    pytest.param("lm-sharded", one_host, 0.02, id="lm-sharded: 2 hosts, then 1"),
    pytest.param("mpi", one_host, 0.02, id="mpi: 4 ranks, then 2"),
    pytest.param("multi-worker-mirrored", one_host, 0.02, id="mirrored: 2 workers, then 1"),
    pytest.param("parameter-server", one_host, 0.03, id="parameter-server: 2 servers, then 1"),
    pytest.param("data-service", one_training_host, 0.03, id="data-service: 2 helpers, then 1"),
    pytest.param("ray-two", one_training_host, 0.05, id="ray: 2 workers, then 1"),
]


@pytest.mark.parametrize(("name", "change", "tolerance"), CASES)
def test_a_run_resumes_with_another_number_of_hosts(
    name: str, change: Change, tolerance: float, work: Path, tmp_path: Path
) -> None:
    recipe = recipe_of(name, work)
    step, saved = run_interrupted(recipe, tmp_path / "first", recipe.interrupt_from)
    smaller = replace(recipe, job=change(recipe.job), check=None)
    resumed = run_whole(smaller, tmp_path / "second", saved)
    resumed_metrics, whole_metrics = (
        json.loads((base / "model" / "metrics.json").read_text())
        for base in (resumed, undisturbed(name, work))
    )
    whole_metric, resumed_metric = whole_metrics[recipe.metric], resumed_metrics[recipe.metric]
    print(f"\n{name}: {recipe.metric} {whole_metric}, changed at step {step}: {resumed_metric}")
    assert resumed_metrics["step"] == whole_metrics["step"] > step
    assert abs(resumed_metric - whole_metric) <= tolerance
