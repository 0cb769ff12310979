"""Which processes of a cluster share a host."""

from collections.abc import Mapping
from typing import Any


def place_on_host(tf_config: Mapping[str, Any], environment: Mapping[str, str]) -> tuple[int, int]:
    """This process's number among those of its host that compute, and how many these are.

    A chief computes nothing: it shares all cores.
    """
    cluster: Mapping[str, list[str]] = tf_config.get("cluster", {})
    kind, index = (tf_config.get("task", {}).get(name) for name in ("type", "index"))
    if kind not in ("worker", "ps"):
        rank, ranks = (environment.get(f"TIDEWHEEL_LOCAL_RANK{s}") for s in ("", "S"))
        return int(rank or 0), int(ranks or 1)
    computing = [
        (each, number, address.rpartition(":")[0])
        for each in ("worker", "ps")
        for number, address in enumerate(cluster.get(each, []))
    ]
    (host,) = (host for each, number, host in computing if (each, number) == (kind, index))
    here = [(each, number) for each, number, its in computing if its == host]
    return here.index((kind, index)), len(here)
