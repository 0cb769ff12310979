"""The network that the ranks use: the host's interface, and EFA where the host has it.

These variables are defaults: one of the same name in the job's Environment wins.
"""

import contextlib
import fcntl
import re
import socket
import struct
from pathlib import Path

from .job import Job

_AMAZON = "0x1d0f"
_SIOCGIFADDR = 0x8915
_RDMA_READ = re.compile(r"(ml\.)?(p4d|p4de|trn1)\.")
"""Types for which AWS's own training toolkit demands RDMA of EFA. On newer types libfabric (1.18)
asks the device itself, and ends a process that demands RDMA of a device without it."""


def network_environment(job: Job, root: Path = Path("/")) -> dict[str, str]:
    """`root` stands for / in tests."""
    return {**interface_environment(job, root), **efa_environment(job, root)}


def interface_environment(job: Job, root: Path = Path("/")) -> dict[str, str]:
    """Names the interface to gloo and NCCL.

    They stop at a name that the host does not have; then the interface of its own address counts.
    """
    name = job.network_interface
    if "/" in name or not (root / "sys/class/net" / name).exists():
        name = interface_of(job.current_host)
    return {"GLOO_SOCKET_IFNAME": name, "NCCL_SOCKET_IFNAME": name} if name else {}


def interface_of(host: str) -> str:
    """The interface that has the host's address; empty when none has it."""
    try:
        address = socket.gethostbyname(host)
    except OSError:
        return ""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):  # The interface has no address.
                request = struct.pack("256s", name.encode()[:15])
                answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)
                if socket.inet_ntoa(answer[20:24]) == address:
                    return name
    return ""


def efa_environment(job: Job, root: Path = Path("/")) -> dict[str, str]:
    """Settings of libfabric, which NCCL and MPI use; empty for one host or without EFA.

    https://github.com/aws/aws-ofi-nccl/blob/master/doc/efa-env-var.md: the plugin chooses NCCL's
    protocol and number of channels, and RDMAV_FORK_SAFE must not be set.
    """
    if len(job.training_hosts) < 2 or not has_efa(root):
        return {}
    return {
        # Fail rather than fall back to TCP silently, at a tenth of the speed.
        "FI_PROVIDER": "efa",
        # Loader workers are forks. Kernels before 5.15 need FI_EFA_FORK_SAFE. When huge pages run
        # out, a fork fails with "Cannot allocate memory"; doing without them costs little.
        "FI_EFA_FORK_SAFE": "1",
        "FI_EFA_USE_HUGE_PAGE": "0",
        **({"FI_EFA_USE_DEVICE_RDMA": "1"} if _RDMA_READ.match(job.current_instance_type) else {}),
    }


def has_efa(root: Path = Path("/")) -> bool:
    """Whether this host has an EFA device that it may open.

    A host launched without EFA, and a container without the device, have only TCP.
    """
    vendors = (root / "sys/class/infiniband").glob("*/device/vendor")
    try:
        is_there = any(vendor.read_text(encoding="ascii").strip() == _AMAZON for vendor in vendors)
    except OSError:
        return False
    return is_there and any((root / "dev/infiniband").glob("uverbs*"))
