"""Which network interface and EFA settings the ranks get on which host."""

from __future__ import annotations

from pathlib import Path

import pytest

from sagemaker_host import make_host
from tidewheel_agent.configuration.job import Job
from tidewheel_agent.configuration.network import (
    efa_environment,
    has_efa,
    interface_environment,
    interface_of,
    network_environment,
)
from tidewheel_agent.configuration.read_job import read_job
from tidewheel_agent.configuration.script_environment import ScriptFiles, script_environment
from tidewheel_agent.configuration.settings import Hardware, Settings
from tidewheel_agent.strategies.launch import plan

HOSTS = ("127.0.0.1", "127.0.0.3")


def job_on(base: Path, instance_type: str, hosts: tuple[str, ...] = HOSTS) -> Job:
    group = {"instance_group_name": "g", "instance_type": instance_type, "hosts": list(hosts)}
    parameters = {"sagemaker_program": "train.py", "tidewheel_strategy": "ddp"}
    make_host(base, host=hosts[0], hosts=hosts, groups=[group], hyperparameters=parameters)
    return read_job(Settings(base=base))


def machine(
    root: Path, *, vendor: str = "0x1d0f", opened: bool = True, interface: str = ""
) -> Path:
    """A stand-in for / of a host with an RDMA device; Amazon's is EFA."""
    device = root / "sys/class/infiniband/rdmap0s6/device"
    device.mkdir(parents=True)
    (device / "vendor").write_text(f"{vendor}\n")
    (root / "dev/infiniband").mkdir(parents=True)
    if opened:
        (root / "dev/infiniband/uverbs0").touch()
    if interface:
        (root / "sys/class/net" / interface).mkdir(parents=True)
    return root


@pytest.mark.parametrize(
    ("instance_type", "rdma"),
    [
        ("ml.p4d.24xlarge", True),
        ("p4de.24xlarge", True),
        ("ml.trn1.32xlarge", True),
        # No RDMA read: libfabric would end a process that demands it.
        ("ml.g5.48xlarge", False),
        ("ml.p3dn.24xlarge", False),
        # On this type libfabric asks the device itself.
        ("ml.p5.48xlarge", False),
    ],
)
def test_hosts_with_efa_use_it(tmp_path: Path, instance_type: str, rdma: bool) -> None:
    variables = efa_environment(
        job_on(tmp_path / "host", instance_type), machine(tmp_path / "root")
    )
    assert variables == {
        "FI_PROVIDER": "efa",
        "FI_EFA_FORK_SAFE": "1",
        "FI_EFA_USE_HUGE_PAGE": "0",
        **({"FI_EFA_USE_DEVICE_RDMA": "1"} if rdma else {}),
    }


def test_a_single_host_uses_no_efa(tmp_path: Path) -> None:
    alone = job_on(tmp_path / "host", "ml.p4d.24xlarge", HOSTS[:1])
    assert efa_environment(alone, machine(tmp_path / "root")) == {}


@pytest.mark.parametrize(
    "device",
    [{"vendor": "0x15b3"}, {"opened": False}],
    ids=["another vendor", "not in the container"],
)
def test_another_or_a_closed_device_is_no_efa(tmp_path: Path, device: dict[str, str]) -> None:
    root = machine(tmp_path / "root", **device)  # type: ignore[arg-type]
    assert not has_efa(root)
    assert efa_environment(job_on(tmp_path / "host", "ml.p4d.24xlarge"), root) == {}


def test_a_host_without_rdma_device_has_no_efa(tmp_path: Path) -> None:
    assert not has_efa(tmp_path)


def test_the_platforms_interface_counts_where_it_exists(tmp_path: Path) -> None:
    root = machine(tmp_path / "root", interface="lo")
    variables = interface_environment(job_on(tmp_path / "host", "ml.p4d.24xlarge"), root)
    assert variables == {"GLOO_SOCKET_IFNAME": "lo", "NCCL_SOCKET_IFNAME": "lo"}


def test_otherwise_the_hosts_address_decides(tmp_path: Path) -> None:
    root = machine(tmp_path / "root")
    variables = interface_environment(job_on(tmp_path / "host", "ml.p4d.24xlarge"), root)
    assert variables["GLOO_SOCKET_IFNAME"] == interface_of("127.0.0.1") == "lo"


def test_a_foreign_address_has_no_interface() -> None:
    assert interface_of("192.0.2.1") == ""
    assert interface_of("no-such-host.invalid") == ""


def test_the_users_variables_win(tmp_path: Path) -> None:
    job = job_on(tmp_path / "host", "ml.p4d.24xlarge")
    settings, hardware = Settings(base=job.base), Hardware(cpus=4, gpus=0)
    launch = plan(job, settings, hardware)
    launch.environment.update(network_environment(job, machine(tmp_path / "root")))
    inherited = {"FI_PROVIDER": "tcp", "NCCL_SOCKET_IFNAME": "ens5"}
    variables = script_environment(
        job,
        settings,
        hardware,
        ScriptFiles.create(tmp_path),
        defaults=launch.environment,
        processes=1,
        inherited=inherited,
    )
    assert (variables["FI_PROVIDER"], variables["NCCL_SOCKET_IFNAME"]) == ("tcp", "ens5")
    assert variables["FI_EFA_FORK_SAFE"] == "1"
