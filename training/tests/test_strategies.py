"""What each strategy starts on each host."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster import running
from conftest import make_host
from tidewheel_agent.job import read_job
from tidewheel_agent.settings import ConfigurationError, Settings
from tidewheel_agent.strategies import Host, Launch, plan

HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
GROUPS = [
    {"instance_group_name": "cpu", "instance_type": "ml.c5.large", "hosts": ["127.0.0.2"]},
    {
        "instance_group_name": "gpu",
        "instance_type": "ml.g5.xlarge",
        "hosts": ["127.0.0.3", "127.0.0.4"],
    },
]
PlanOf = Callable[..., Launch]


@pytest.fixture
def plan_of(tmp_path: Path) -> PlanOf:
    def make(host: str, *, gpus: int = 0, groups: Any = None, **hyperparameters: Any) -> Launch:  # noqa: ANN401
        base = make_host(
            tmp_path / host,
            host=host,
            hosts=HOSTS,
            groups=groups,
            hyperparameters={"sagemaker_program": "train.py", **hyperparameters},
        )
        settings = Settings(base=base, master_port=9000)
        return plan(read_job(settings), settings, Host(cpus=8, gpus=gpus))

    return make


def test_single_runs_the_script_itself(plan_of: PlanOf) -> None:
    launch = plan_of(HOSTS[0], epochs=3)
    assert launch.argv == [sys.executable, "-u", "train.py", "--epochs", "3"]
    assert not launch.has_launcher


def test_ddp_starts_torchrun_with_the_hosts_rank(plan_of: PlanOf) -> None:
    launch = plan_of(HOSTS[1], gpus=4, tidewheel_strategy="ddp", epochs=3)
    assert launch.argv[1:] == [
        "-m",
        "torch.distributed.run",
        "--nnodes=3",
        "--nproc-per-node=4",
        "--node-rank=1",
        "--master-addr=127.0.0.2",
        "--master-port=9000",
        "train.py",
        "--epochs",
        "3",
    ]
    assert launch.has_launcher and launch.processes == 4
    assert launch.environment["GLOO_SOCKET_IFNAME"] == "lo"


def test_the_number_of_processes_can_be_told(plan_of: PlanOf) -> None:
    launch = plan_of(HOSTS[0], gpus=4, tidewheel_strategy="ddp", tidewheel_processes_per_host=2)
    assert "--nproc-per-node=2" in launch.argv


def test_toolkit_style_jobs_are_ddp_too(plan_of: PlanOf) -> None:
    launch = plan_of(HOSTS[0], sagemaker_torch_distributed_enabled=True)
    assert "torch.distributed.run" in launch.argv


def test_ddp_ranks_only_the_groups_that_train(plan_of: PlanOf) -> None:
    told: dict[str, Any] = {
        "groups": GROUPS,
        "tidewheel_strategy": "ddp",
        "sagemaker_distribution_instance_groups": ["gpu"],
    }
    assert plan_of(HOSTS[0], **told).only_waits
    launch = plan_of(HOSTS[2], **told)
    assert {"--nnodes=2", "--node-rank=1", "--master-addr=127.0.0.3"} <= set(launch.argv)


def test_several_groups_without_saying_which_trains_are_refused(plan_of: PlanOf) -> None:
    with pytest.raises(ConfigurationError, match="sagemaker_distribution_instance_groups"):
        plan_of(HOSTS[0], groups=GROUPS, tidewheel_strategy="ddp")


def test_tensorflow_workers_know_each_other(plan_of: PlanOf) -> None:
    launch = plan_of(HOSTS[2], tidewheel_strategy="multi-worker-mirrored")
    assert json.loads(launch.environment["TF_CONFIG"]) == {
        "cluster": {"worker": ["127.0.0.2:9002", "127.0.0.3:9003", "127.0.0.4:9004"]},
        "task": {"type": "worker", "index": 2},
        "environment": "cloud",
    }


def test_a_strategy_without_a_launcher_is_refused_with_the_choice(plan_of: PlanOf) -> None:
    with pytest.raises(ConfigurationError, match="choose single, ddp, multi-worker-mirrored"):
        plan_of(HOSTS[0], tidewheel_strategy="ray")


@pytest.mark.parametrize("code", [0, 42])
def test_a_helper_host_stays_until_the_leader_ends_and_ends_as_it_does(
    tmp_path: Path, code: int
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "train.py").write_text(
        f"import sys, time\ntime.sleep(1)\nprint('leader ran')\nsys.exit({code})"
    )
    groups = [
        {"instance_group_name": "cpu", "instance_type": "ml.c5.large", "hosts": [HOSTS[1]]},
        {"instance_group_name": "gpu", "instance_type": "ml.g5.xlarge", "hosts": [HOSTS[0]]},
    ]
    bases = [
        make_host(
            tmp_path / host,
            host=host,
            hosts=HOSTS[:2],
            groups=groups,
            source=source,
            hyperparameters={
                "sagemaker_program": "train.py",
                "tidewheel_strategy": "multi-worker-mirrored",
                "sagemaker_distribution_instance_groups": ["gpu"],
            },
        )
        for host in HOSTS[:2]
    ]
    with running(bases) as cluster:
        assert cluster.wait(20) == [code, code], cluster.log(1)
        assert "leader ran" in cluster.log(0)
        assert "leader ran" not in cluster.log(1)
        assert "waiting for 127.0.0.2 to end" in cluster.log(1)
    if code:
        failure = (bases[1] / "output" / "failure").read_text()
        assert failure.startswith("train.py ended with exit code 42 on 127.0.0.2")
