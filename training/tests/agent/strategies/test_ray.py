"""A real Ray cluster over three hosts: it ends when the script ends, and fails when that fails.

A minute each, in `.venv-ray`: `pytest -m heavy tests/agent/strategies/test_ray.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from heavy import python_of
from hosts import Attempt, JobOnThisMachine, processes_below

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]
HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
START = """
import os, sys
import ray
ray.init(address=os.environ["RAY_ADDRESS"], logging_level="ERROR")

@ray.remote(num_cpus=1, resources={"helpers": 0.01})
def where():
    return os.environ["SM_CURRENT_HOST"]

print("nodes", len([n for n in ray.nodes() if n["Alive"]]), "task on", ray.get(where.remote()))
"""


def attempt_of(tmp_path: Path, end: str) -> Attempt:
    source = tmp_path / "source"
    source.mkdir()
    (source / "train.py").write_text(START + end)
    (tmp_path / "data").mkdir()
    job = JobOnThisMachine(
        strategy="ray",
        source=source,
        program="train.py",
        data=tmp_path / "data",
        python=python_of("ray", "ray"),
        hosts=HOSTS,
        groups={"train": HOSTS[:2], "helpers": HOSTS[2:]},
    )
    return Attempt(tmp_path / "job", job)


def test_all_hosts_join_and_end_with_the_script(tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, "")
    try:
        attempt.start()
        assert attempt.wait(400) == [0, 0, 0], attempt.logs()
        assert f"nodes 3 task on {HOSTS[2]}" in attempt.logs(10_000)
        assert [processes_below(base) for base in attempt.bases] == [[], [], []]
    finally:
        attempt.close()


def test_all_hosts_fail_when_the_script_fails(tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, "raise ValueError('no such label')\n")
    try:
        attempt.start()
        assert attempt.wait(400) == [1, 1, 1], attempt.logs()
        failures = [(base / "output" / "failure").read_text() for base in attempt.bases]
        assert all("no such label" in text for text in failures), failures
        assert [processes_below(base) for base in attempt.bases] == [[], [], []]
    finally:
        attempt.close()
