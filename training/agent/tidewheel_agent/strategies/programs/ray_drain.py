"""`--run ray_drain ADDRESS HOST SECONDS`: tells Ray that the host's node leaves in so many seconds.

`ray.train.get_preemption_info()` then returns the node and the deadline in every worker. As Ray's
own command `ray drain-node` does it, which would start a driver to find the node.
"""

from __future__ import annotations

import sys
import time


def drain(address: str, host: str, seconds: float) -> str:
    """What came of it."""
    from ray._raylet import GcsClient
    from ray.core.generated.autoscaler_pb2 import DrainNodeReason
    from ray.core.generated.gcs_pb2 import GcsNodeInfo

    client = GcsClient(address=address)
    alive = GcsNodeInfo.GcsNodeState.ALIVE
    nodes = [
        node.hex()
        for node, info in client.get_all_node_info().items()
        if info.node_manager_address == host and info.state == alive
    ]
    if not nodes:
        return f"no node of {host} is there"
    reason = DrainNodeReason.Value("DRAIN_NODE_REASON_PREEMPTION")
    deadline = int((time.time() + seconds) * 1000)
    for node in nodes:
        is_accepted, why = client.drain_node(node, reason, "capacity is taken away", deadline)
        if not is_accepted:
            return f"refused: {why}"
    return f"Ray drains the node of {host}, which leaves in {seconds:.0f} s"


def main() -> None:
    address, host, seconds = sys.argv[1:]
    try:
        print(drain(address, host, float(seconds)), flush=True)
    except Exception as error:  # Another version of Ray may have another API.
        print(f"Ray does not know that this host leaves: {error!r}", flush=True)


if __name__ == "__main__":
    main()
