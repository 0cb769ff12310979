"""`--run ray_node SECONDS ray start …`: this host's node of the Ray cluster.

`ray start` fails when a busy host does not join within 30 seconds, a constant of Ray's. A node that
has never been up is started again until SECONDS are over. A node that was up is not: the work that
ran on it is lost.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tidewheel_agent.agent_path import program, shell_code

_STARTED = b"Ray runtime started"
"""`ray start` prints this once the node has joined."""
_PAUSE_SECONDS = 1.0
DRAIN_VARIABLE = "TIDEWHEEL_RAY_DRAIN"
_LOOK_SECONDS = 0.5


def run(argv: list[str], seconds: float, is_drained: Callable[[], bool] = lambda: False) -> int:
    deadline = time.monotonic() + seconds
    while True:
        code, was_up = _run_once(argv)
        while is_drained():
            time.sleep(_PAUSE_SECONDS)
        if was_up or code == 0 or time.monotonic() >= deadline:
            return shell_code(code)
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


def drain_at(stop_file: Path, address: str, host: str, drained: threading.Event) -> None:
    """Waits for the warning, then drains the host's node."""
    while not stop_file.exists():
        time.sleep(_LOOK_SECONDS)
    left = json.loads(stop_file.read_text())["deadlineUnixSeconds"] - time.time()
    drained.set()
    subprocess.run([*program("ray_drain"), address, host, f"{max(1.0, left):.0f}"], check=False)


def main() -> int:
    drained = threading.Event()
    address, _, host = os.environ.get(DRAIN_VARIABLE, "").partition(" ")
    if address:
        stop = Path(os.environ["TIDEWHEEL_STOP_FILE"])
        waiting = (stop, address, host, drained)
        threading.Thread(target=drain_at, args=waiting, daemon=True).start()
    return run(sys.argv[2:], float(sys.argv[1]), drained.is_set)


if __name__ == "__main__":
    sys.exit(main())
