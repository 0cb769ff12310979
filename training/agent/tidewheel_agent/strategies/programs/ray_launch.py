"""`--run ray_launch ADDRESS NODES SECONDS PROGRAM…`: the program, once all nodes have joined.

Replaces itself by the program, which so gets signals directly.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable


def wait_for_nodes(
    address: str,
    nodes: int,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> int:
    """Returns how many nodes have joined, at most `seconds` after the last of them did."""
    import ray

    deadline = clock() + seconds
    joined = most = 0
    while clock() < deadline:
        try:
            if not ray.is_initialized():
                ray.init(address=address, logging_level="ERROR", log_to_driver=False)
            joined = sum(1 for node in ray.nodes() if node["Alive"])
            if joined >= nodes:
                break
        except (ConnectionError, RuntimeError):
            pass  # The head is not up yet.
        if joined > most:
            # Hosts that are busy starting come late, and one after the other.
            most, deadline = joined, clock() + seconds
        sleep(0.5)
    ray.shutdown()
    return joined


def main() -> None:
    address, nodes, seconds, *argv = sys.argv[1:]
    joined = wait_for_nodes(address, int(nodes), float(seconds))
    if joined < int(nodes):
        print(
            f"{joined} of {nodes} hosts joined the Ray cluster, and none within {seconds} s: "
            "look for a host that did not start, or open all ports between the job's hosts",
            flush=True,
        )
        sys.exit(1)
    print(f"all {nodes} hosts have joined the Ray cluster at {address}", flush=True)
    os.execvp(argv[0], argv)


if __name__ == "__main__":
    main()
