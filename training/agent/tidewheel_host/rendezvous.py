"""How hosts find each other: each writes its address to the bucket and waits for all others."""

import json
import time
from collections.abc import Callable
from pathlib import Path

from .aws_cli import AwsCli, AwsCliError


class HostsMissingError(Exception):
    """Not all hosts of the gang came in time, so none of them trains."""


def meet(
    aws: AwsCli,
    uri: str,
    instance_id: str,
    address: str,
    nodes: int,
    limit_seconds: float,
    *,
    members: list[str] | None = None,
    is_interrupted: Callable[[], bool] = lambda: False,
) -> list[str] | None:
    """Addresses of all hosts in the order of their ranks, which is the same on every host.

    Waits for the instances in `members`, or without them for any `nodes` hosts. None when
    interrupted; raises HostsMissingError at the limit.
    """
    aws.write(f"{uri}{instance_id}.json", json.dumps({"address": address}))
    deadline = time.monotonic() + limit_seconds
    addresses: dict[str, str] = {}
    while time.monotonic() < deadline:
        try:
            names = aws.keys(uri)
        except AwsCliError:
            names = []
        for name in names:
            if name not in addresses:
                text = aws.read_if_there(f"{uri}{name}")
                if text is not None:
                    addresses[name] = str(json.loads(text)["address"])
        expected = (
            sorted(addresses)[:nodes] if members is None else [f"{id}.json" for id in members]
        )
        if len(expected) >= nodes and all(name in addresses for name in expected):
            return [addresses[name] for name in expected]
        if is_interrupted():
            return None
        time.sleep(min(2.0, limit_seconds / 10))
    raise HostsMissingError(f"{len(addresses)} of {nodes} hosts came within {limit_seconds:.0f} s")


def interface_for(address: str) -> str:
    """The network interface of the host's address.

    Hosts that share a machine have loopback addresses; any other host uses its default route.
    """
    return "lo" if address.startswith("127.") else default_interface()


def default_interface(route: Path = Path("/proc/net/route")) -> str:
    """The interface of the default route; eth0 without one."""
    try:
        rows = [line.split() for line in route.read_text(encoding="ascii").splitlines()[1:]]
    except OSError:
        return "eth0"
    return next((row[0] for row in rows if len(row) > 1 and row[1] == "00000000"), "eth0")
