"""Which interface and which EFA settings the ranks of a gang are given, from what the host has."""

from __future__ import annotations

from pathlib import Path

import pytest

from sagemaker_host import make_host
from tidewheel_agent.configuration.job import Job, read_job
from tidewheel_agent.configuration.network import (
    efa_environment,
    has_efa,
    interface_environment,
    interface_of,
    network_environment,
)
from tidewheel_agent.configuration.settings import Settings
from tidewheel_agent.main import script_environment
from tidewheel_agent.strategies.plan import Host, plan

HOSTS = ("127.0.0.1", "127.0.0.3")


def job_on(base: Path, instance_type: str, hosts: tuple[str, ...] = HOSTS) -> Job:
    group = {"instance_group_name": "g", "instance_type": instance_type, "hosts": list(hosts)}
    told = {"sagemaker_program": "train.py", "tidewheel_strategy": "ddp"}
    make_host(base, host=hosts[0], hosts=hosts, groups=[group], hyperparameters=told)
    return read_job(Settings(base=base))


def machine(
    root: Path, *, vendor: str = "0x1d0f", opened: bool = True, interface: str = ""
) -> Path:
    """As / of a host with an InfiniBand-like device: EFA is Amazon's."""
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
        # Without RDMA read: libfabric would end the process that asks for it.
        ("ml.g5.48xlarge", False),
        ("ml.p3dn.24xlarge", False),
        # Its libfabric asks the device itself.
        ("ml.p5.48xlarge", False),
    ],
)
def test_a_gang_with_efa_uses_it(tmp_path: Path, instance_type: str, rdma: bool) -> None:
    told = efa_environment(job_on(tmp_path / "host", instance_type), machine(tmp_path / "root"))
    assert told == {
        "FI_PROVIDER": "efa",
        "FI_EFA_FORK_SAFE": "1",
        "FI_EFA_USE_HUGE_PAGE": "0",
        **({"FI_EFA_USE_DEVICE_RDMA": "1"} if rdma else {}),
    }


def test_a_host_alone_needs_no_efa(tmp_path: Path) -> None:
    alone = job_on(tmp_path / "host", "ml.p4d.24xlarge", HOSTS[:1])
    assert efa_environment(alone, machine(tmp_path / "root")) == {}


@pytest.mark.parametrize(
    "told",
    [{"vendor": "0x15b3"}, {"opened": False}],
    ids=["another maker's", "not in the container"],
)
def test_a_device_that_is_no_efa_or_cannot_be_opened_is_none(
    tmp_path: Path, told: dict[str, str]
) -> None:
    root = machine(tmp_path / "root", **told)  # type: ignore[arg-type]
    assert not has_efa(root)
    assert efa_environment(job_on(tmp_path / "host", "ml.p4d.24xlarge"), root) == {}


def test_a_host_without_any_such_device_has_no_efa(tmp_path: Path) -> None:
    assert not has_efa(tmp_path)


def test_the_interface_that_the_platform_names_is_taken_where_it_exists(tmp_path: Path) -> None:
    root = machine(tmp_path / "root", interface="lo")
    told = interface_environment(job_on(tmp_path / "host", "ml.p4d.24xlarge"), root)
    assert told == {"GLOO_SOCKET_IFNAME": "lo", "NCCL_SOCKET_IFNAME": "lo"}


def test_else_the_one_that_has_the_hosts_address(tmp_path: Path) -> None:
    root = machine(tmp_path / "root")
    told = interface_environment(job_on(tmp_path / "host", "ml.p4d.24xlarge"), root)
    assert told["GLOO_SOCKET_IFNAME"] == interface_of("127.0.0.1") == "lo"


def test_an_address_that_is_on_no_interface_names_none() -> None:
    assert interface_of("192.0.2.1") == ""
    assert interface_of("no-such-host.invalid") == ""


def test_what_the_user_sets_wins(tmp_path: Path) -> None:
    job = job_on(tmp_path / "host", "ml.p4d.24xlarge")
    settings, host = Settings(base=job.base), Host(cpus=4, gpus=0)
    launch = plan(job, settings, host)
    launch.environment.update(network_environment(job, machine(tmp_path / "root")))
    inherited = {"FI_PROVIDER": "tcp", "NCCL_SOCKET_IFNAME": "ens5"}
    told = script_environment(job, settings, host, launch, tmp_path / "stop", inherited)
    assert (told["FI_PROVIDER"], told["NCCL_SOCKET_IFNAME"]) == ("tcp", "ens5")
    assert told["FI_EFA_FORK_SAFE"] == "1"
