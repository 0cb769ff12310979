"""Who the others are: every host puts its address into the bucket and waits until all have."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from .aws_cli import Cloud, CloudError


class AloneError(Exception):
    """Not all hosts of the gang came in time: better none than a gang that waits for ever."""


def meet(
    cloud: Cloud,
    uri: str,
    me: str,
    address: str,
    nodes: int,
    limit_seconds: float,
    *,
    members: list[str] | None = None,
    disturbed: Callable[[], bool] = lambda: False,
) -> list[str] | None:
    """Addresses of all hosts in the order of ranks; the same on every host.

    `members` names who is awaited; without it any so many hosts are. None when `disturbed`.
    """
    cloud.write(f"{uri}{me}.json", json.dumps({"address": address}))
    deadline = time.monotonic() + limit_seconds
    met: dict[str, str] = {}
    while time.monotonic() < deadline:
        try:
            names = cloud.keys(uri)
        except CloudError:
            names = []
        for name in names:
            if name not in met:
                text = cloud.read_if_there(f"{uri}{name}")
                if text is not None:
                    met[name] = str(json.loads(text)["address"])
        expected = sorted(met)[:nodes] if members is None else [f"{id}.json" for id in members]
        if len(expected) >= nodes and all(name in met for name in expected):
            return [met[name] for name in expected]
        if disturbed():
            return None
        time.sleep(min(2.0, limit_seconds / 10))
    raise AloneError(f"{len(met)} of {nodes} hosts came within {limit_seconds:.0f} s")


def interface_for(address: str) -> str:
    """Name of the interface that the host's address lies on, as far as it needs telling: hosts on
    one machine have loopback addresses, every other host goes by its default route."""
    return "lo" if address.startswith("127.") else default_interface()


def default_interface(route: Path = Path("/proc/net/route")) -> str:
    """Name of the interface of the default route; eth0 when there is none."""
    try:
        rows = [line.split() for line in route.read_text(encoding="ascii").splitlines()[1:]]
    except OSError:
        return "eth0"
    return next((row[0] for row in rows if len(row) > 1 and row[1] == "00000000"), "eth0")
