"""Which network the ranks of a gang talk over: the host's interface, and EFA where it is there.

What is set here is a default: a variable of the same name in the job's Environment wins.
"""

from __future__ import annotations

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
"""Types for which AWS's own training toolkit asks EFA for RDMA. Newer types have a libfabric (1.18)
that asks the device, and where the device cannot, libfabric ends the process that demanded it."""


def network_environment(job: Job, root: Path = Path("/")) -> dict[str, str]:
    """`root` stands in for / in tests."""
    return {**interface_environment(job, root), **efa_environment(job, root)}


def interface_environment(job: Job, root: Path = Path("/")) -> dict[str, str]:
    """Names the interface to gloo and NCCL; a name that is not there would stop them, so an unknown
    one is replaced by that of the host's own address."""
    name = job.network_interface
    if "/" in name or not (root / "sys/class/net" / name).exists():
        name = interface_of(job.current_host)
    return {"GLOO_SOCKET_IFNAME": name, "NCCL_SOCKET_IFNAME": name} if name else {}


def interface_of(host: str) -> str:
    """The interface that has the host's address; empty when none has."""
    try:
        address = socket.gethostbyname(host)
    except OSError:
        return ""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):  # it has no address
                request = struct.pack("256s", name.encode()[:15])
                answer = fcntl.ioctl(asked.fileno(), _SIOCGIFADDR, request)
                if socket.inet_ntoa(answer[20:24]) == address:
                    return name
    return ""


def efa_environment(job: Job, root: Path = Path("/")) -> dict[str, str]:
    """For libfabric, below NCCL and MPI alike; nothing for a host alone or one without EFA.

    https://github.com/aws/aws-ofi-nccl/blob/master/doc/efa-env-var.md: NCCL's protocol and the
    number of its channels are the plugin's to choose, and RDMAV_FORK_SAFE is not to be set.
    """
    if len(job.training_hosts) < 2 or not has_efa(root):
        return {}
    return {
        # Rather no training than one that silently goes over TCP at a tenth of the speed.
        "FI_PROVIDER": "efa",
        # Loader workers are forked. Kernels from 5.15 on need the first no more; the second costs
        # little, and huge pages that run out make a fork fail with "Cannot allocate memory".
        "FI_EFA_FORK_SAFE": "1",
        "FI_EFA_USE_HUGE_PAGE": "0",
        **({"FI_EFA_USE_DEVICE_RDMA": "1"} if _RDMA_READ.match(job.current_instance_type) else {}),
    }


def has_efa(root: Path = Path("/")) -> bool:
    """Whether this host has an EFA device and may open it: a type with EFA launched without one,
    or a container without the device, has only TCP."""
    vendors = (root / "sys/class/infiniband").glob("*/device/vendor")
    try:
        is_there = any(vendor.read_text(encoding="ascii").strip() == _AMAZON for vendor in vendors)
    except OSError:
        return False
    return is_there and any((root / "dev/infiniband").glob("uverbs*"))
