"""A real Ray cluster over three hosts: it ends when the script ends, and fails when that fails.

A minute each, in `.venv-ray`: `pytest -m heavy tests/agent/strategies/test_ray.py`.
"""

from __future__ import annotations

import signal
import time
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


WARNED = """
import os, time
import ray
import ray.train
from ray.train import RunConfig, ScalingConfig
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer
ray.init(address=os.environ["RAY_ADDRESS"], logging_level="ERROR")
marks = os.environ["SM_OUTPUT_INTERMEDIATE_DIR"]

def train(config):
    rank, steps = ray.train.get_context().get_world_rank(), 0
    while (warned := ray.train.get_preemption_info()) is None:
        time.sleep(0.2)
        steps += 1
        if steps == 50:  # Ray's own watcher has started by then.
            open(f"{marks}/trains-{rank}", "w").close()
    left = warned.deadline_ms / 1000 - time.time()
    print(f"rank {rank} is warned:", warned.preempted_ranks != [] and 0 < left < 61, flush=True)

DataParallelTrainer(
    train,
    scaling_config=ScalingConfig(num_workers=2, placement_strategy="STRICT_SPREAD"),
    run_config=RunConfig(storage_path=marks, name="warned"),
).fit()
time.sleep(3)
print("the driver goes on", flush=True)
"""


def attempt_of(tmp_path: Path, script: str, *, helpers: bool = True) -> Attempt:
    source = tmp_path / "source"
    source.mkdir()
    (source / "train.py").write_text(script)
    (tmp_path / "data").mkdir()
    job = JobOnThisMachine(
        strategy="ray",
        source=source,
        program="train.py",
        data=tmp_path / "data",
        python=python_of("ray", "ray"),
        hosts=HOSTS if helpers else HOSTS[:2],
        groups={"train": HOSTS[:2], "helpers": HOSTS[2:]} if helpers else {},
        # Ray folds lines that differ in a number alone.
        environment={"TIDEWHEEL_GRACE_SECONDS": "60", "RAY_DEDUP_LOGS": "0"},
    )
    return Attempt(tmp_path / "job", job)


def test_all_hosts_join_and_end_with_the_script(tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, START)
    try:
        attempt.start()
        assert attempt.wait(400) == [0, 0, 0], attempt.logs()
        assert f"nodes 3 task on {HOSTS[2]}" in attempt.logs(10_000)
        assert [processes_below(base) for base in attempt.bases] == [[], [], []]
    finally:
        attempt.close()


def test_all_hosts_fail_when_the_script_fails(tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, START + "raise ValueError('no such label')\n")
    try:
        attempt.start()
        assert attempt.wait(400) == [1, 1, 1], attempt.logs()
        failures = [(base / "output" / "failure").read_text() for base in attempt.bases]
        assert all("no such label" in text for text in failures), failures
        assert [processes_below(base) for base in attempt.bases] == [[], [], []]
    finally:
        attempt.close()


def test_rays_own_api_tells_of_a_warning(tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, WARNED, helpers=False)
    try:
        attempt.start()
        deadline = time.monotonic() + 400
        while len([*tmp_path.glob("job/*/**/trains-*")]) < 2 and time.monotonic() < deadline:
            time.sleep(0.2)
        attempt.signal(signal.SIGTERM, [0])
        assert attempt.wait(400) == [143, 143], attempt.logs()
        logs = attempt.logs(10_000)
        assert "rank 0 is warned: True" in logs, logs
        assert "rank 1 is warned: True" in logs, logs
        assert "the driver goes on" in logs, logs
        assert "a service of the script ended" not in logs
    finally:
        attempt.close()
