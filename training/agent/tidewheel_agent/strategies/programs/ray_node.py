"""`--run ray_node SECONDS ray start …`: this host's node of the Ray cluster.

`ray start` fails when a busy host does not join within 30 seconds, a constant of Ray's. A node that
has never been up is started again until SECONDS are over. A node that was up is not: the work that
ran on it is lost.
"""

from __future__ import annotations

import subprocess
import sys
import time

_STARTED = b"Ray runtime started"
"""`ray start` prints this once the node has joined."""
_PAUSE_SECONDS = 1.0


def run(argv: list[str], seconds: float) -> int:
    deadline = time.monotonic() + seconds
    while True:
        code, was_up = _run_once(argv)
        if was_up or code == 0 or time.monotonic() >= deadline:
            return 128 - code if code < 0 else code
        print("this host has not joined the Ray cluster: trying again", flush=True)
        time.sleep(_PAUSE_SECONDS)


def _run_once(argv: list[str]) -> tuple[int, bool]:
    """Returns the exit code and whether the node was ever up."""
    node = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert node.stdout is not None
    was_up = False
    for line in node.stdout:
        was_up = was_up or _STARTED in line
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    return node.wait(), was_up


if __name__ == "__main__":
    sys.exit(run(sys.argv[2:], float(sys.argv[1])))
