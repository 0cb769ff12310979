"""What each strategy starts on each host."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster import running
from sagemaker_host import make_host
from tidewheel_agent.configuration.read_job import read_job
from tidewheel_agent.configuration.settings import ConfigurationError, Hardware, Settings
from tidewheel_agent.configuration.strategy_traits import TRAITS
from tidewheel_agent.strategies.launch import Launch, launcher_of, plan
from tidewheel_agent.strategies.mpi import proxy_arguments, proxy_options

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
        return plan(read_job(settings), settings, Hardware(cpus=8, gpus=gpus))

    return make


@pytest.mark.parametrize("strategy", TRAITS)
def test_every_strategy_has_a_launcher(strategy: str) -> None:
    assert callable(launcher_of(strategy))


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


def test_the_number_of_processes_is_a_parameter(plan_of: PlanOf) -> None:
    launch = plan_of(HOSTS[0], gpus=4, tidewheel_strategy="ddp", tidewheel_processes_per_host=2)
    assert "--nproc-per-node=2" in launch.argv


def test_the_toolkits_parameter_means_ddp(plan_of: PlanOf) -> None:
    launch = plan_of(HOSTS[0], sagemaker_torch_distributed_enabled=True)
    assert "torch.distributed.run" in launch.argv


def test_ddp_runs_only_on_groups_that_train(plan_of: PlanOf) -> None:
    parameters: dict[str, Any] = {
        "groups": GROUPS,
        "tidewheel_strategy": "ddp",
        "sagemaker_distribution_instance_groups": ["gpu"],
    }
    assert plan_of(HOSTS[0], **parameters).only_waits
    launch = plan_of(HOSTS[2], **parameters)
    assert {"--nnodes=2", "--node-rank=1", "--master-addr=127.0.0.3"} <= set(launch.argv)


def test_groups_without_a_named_training_group_are_refused(plan_of: PlanOf) -> None:
    with pytest.raises(ConfigurationError, match="sagemaker_distribution_instance_groups"):
        plan_of(HOSTS[0], groups=GROUPS, tidewheel_strategy="ddp")


def test_tensorflow_workers_know_each_other(plan_of: PlanOf) -> None:
    launch = plan_of(HOSTS[2], tidewheel_strategy="multi-worker-mirrored")
    assert json.loads(launch.environment["TF_CONFIG"]) == {
        "cluster": {"worker": ["127.0.0.2:9002", "127.0.0.3:9003", "127.0.0.4:9004"]},
        "task": {"type": "worker", "index": 2},
        "environment": "cloud",
    }


def roles_of(launch: Launch) -> dict[str, list[dict[str, Any]]]:
    """The programs that with_services.py must start."""
    programs: dict[str, list[dict[str, Any]]] = json.loads(launch.argv[-1])
    return programs


def test_without_helpers_parameter_servers_run_beside_workers(plan_of: PlanOf) -> None:
    first = plan_of(HOSTS[0], tidewheel_strategy="parameter-server")
    roles = roles_of(first)
    config = json.loads(roles["main"]["environment"]["TF_CONFIG"])  # type: ignore[call-overload]
    assert config["task"] == {"type": "chief", "index": 0}
    assert config["cluster"] == {
        "chief": ["127.0.0.2:9002"],
        "worker": ["127.0.0.2:9003", "127.0.0.3:9004", "127.0.0.4:9005"],
        "ps": ["127.0.0.2:9006", "127.0.0.3:9007", "127.0.0.4:9008"],
    }
    assert not first.serves
    last = plan_of(HOSTS[2], tidewheel_strategy="parameter-server")
    tasks = [json.loads(s["environment"]["TF_CONFIG"])["task"] for s in roles_of(last)["services"]]
    assert tasks == [{"type": "worker", "index": 2}, {"type": "ps", "index": 2}]
    assert last.serves


def test_with_helpers_parameter_servers_run_there(plan_of: PlanOf) -> None:
    parameters: dict[str, Any] = {
        "groups": GROUPS,
        "tidewheel_strategy": "parameter-server",
        "sagemaker_distribution_instance_groups": ["gpu"],
    }
    (service,) = roles_of(plan_of(HOSTS[0], **parameters))["services"]
    config = json.loads(service["environment"]["TF_CONFIG"])
    assert config["task"] == {"type": "ps", "index": 0}
    assert config["cluster"]["ps"] == ["127.0.0.2:9005"]


def test_rays_head_runs_on_the_first_accelerator_host(plan_of: PlanOf) -> None:
    head = plan_of(HOSTS[1], groups=GROUPS, gpus=2, tidewheel_strategy="ray")
    node = plan_of(HOSTS[0], groups=GROUPS, tidewheel_strategy="ray")
    assert not head.serves and node.serves
    start = roles_of(head)["services"][0]["argv"]
    assert {"--head", "--port=9002", "--num-gpus=2", '--resources={"gpu": 1000}'} <= set(start)
    assert "--address=127.0.0.3:9002" in roles_of(node)["services"][0]["argv"]


@pytest.mark.parametrize(("asks", "drained"), [(True, [False, True]), (False, [False, False])])
def test_a_script_that_asks_ray_has_its_nodes_drained(
    plan_of: PlanOf, tmp_path: Path, asks: bool, drained: list[bool]
) -> None:
    call = "ray.train.get_preemption_info()" if asks else "pass"
    for host in HOSTS[:2]:
        (tmp_path / host / "code").mkdir(parents=True)
        (tmp_path / host / "code" / "train.py").write_text(call)
    # The helper's node serves to the end.
    nodes = [
        roles_of(plan_of(host, groups=GROUPS, tidewheel_strategy="ray"))["services"][0]
        for host in HOSTS[:2]
    ]
    assert ["TIDEWHEEL_RAY_DRAIN" in node["environment"] for node in nodes] == drained


def test_data_service_runs_on_the_helpers(plan_of: PlanOf) -> None:
    parameters: dict[str, Any] = {"groups": GROUPS, "tidewheel_strategy": "data-service"}
    helper = roles_of(plan_of(HOSTS[0], **parameters))["services"][0]["argv"]
    assert helper[-4:] == ["127.0.0.2:9002", "--worker", "127.0.0.2:9003", "--dispatch"]
    script = plan_of(HOSTS[1], **parameters)
    assert script.environment["TIDEWHEEL_DATA_SERVICE"] == "grpc://127.0.0.2:9002"


def test_data_service_without_helpers_is_refused(plan_of: PlanOf) -> None:
    with pytest.raises(ConfigurationError, match="second instance group"):
        plan_of(HOSTS[0], tidewheel_strategy="data-service")


def test_mpi_numbers_ranks_host_by_host(plan_of: PlanOf) -> None:
    pytest.importorskip("mpi4py")
    launch = plan_of(HOSTS[0], tidewheel_strategy="mpi", tidewheel_processes_per_host=2)
    command = " ".join(launch.argv)
    assert "-launcher manual -hosts 127.0.0.2,127.0.0.3,127.0.0.4" in command
    assert "-genvnone -ppn 2 -n 6" in command
    assert command.endswith("--run mpi_rank 0")
    own = json.loads(launch.environment["TIDEWHEEL_RANK_COMMAND"])
    assert own == [sys.executable, "-u", "train.py"]
    assert plan_of(HOSTS[2], tidewheel_strategy="mpi").host_index == 2


def test_mpi_can_pin_a_gpu_to_each_rank(plan_of: PlanOf) -> None:
    pytest.importorskip("mpi4py")
    parameters = {"tidewheel_strategy": "mpi", "tidewheel_pin_gpus": True}
    with_gpus = " ".join(plan_of(HOSTS[0], gpus=4, **parameters).argv)
    assert "-ppn 4 -n 12" in with_gpus and "--run mpi_rank 1" in with_gpus


def test_a_proxy_takes_only_known_options() -> None:
    pytest.importorskip("mpi4py")
    line = (
        "HYDRA_LAUNCH: /bin/anything --control-port 10.9.9.9:4711 --rmk user --launcher manual "
        "--demux poll --iface lo --pgid 0 --retries 10 --usize -1 --pmi-port 0 "
        "--gpus-per-proc -2 --gpu-subdevs-per-proc -2 --proxy-id 1 "
    )
    proxy = proxy_options(line)
    assert proxy is not None and proxy[0] == 1
    argv = proxy_arguments("127.0.0.2", proxy[1])
    assert Path(argv[0]).name == "hydra_pmi_proxy"
    assert argv[1:3] == ["--control-port", "127.0.0.2:4711"]
    for hostile in (["--exec", "/bin/sh"], ["--iface", "lo;id"], ["--proxy-id"]):
        with pytest.raises(ConfigurationError):
            proxy_arguments("127.0.0.2", [*proxy[1], *hostile])
    assert proxy_options("the script's own line") is None


@pytest.mark.parametrize("code", [0, 42])
def test_a_helper_host_ends_as_the_leader_does(tmp_path: Path, code: int) -> None:
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
