"""Which processes get SIGTERM, and which belong to the script."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from hosts import TRAINING
from tidewheel_agent.agent_path import SERVICE_VARIABLE
from tidewheel_agent.supervision.leftovers import Leftovers
from tidewheel_agent.supervision.process_tree import (
    TOKEN_VARIABLE,
    Process,
    kill_all,
    script_processes,
    sigterm_targets,
)

AGENT = TRAINING / "agent"
TORCHRUN = Process(10, 1, ("python", "-m", "torch.distributed.run", "train.py"), True)


def rank(pid: int, *, parent: int = 10, catches: bool = True) -> Process:
    return Process(pid, parent, ("python", "-u", "train.py"), catches)


def test_ranks_get_it_and_their_launcher_does_not() -> None:
    assert sigterm_targets([TORCHRUN, rank(11), rank(12)], launcher=10) == [11, 12]


def test_a_script_without_handler_does_not_get_it() -> None:
    assert sigterm_targets([rank(11, parent=1, catches=False)], launcher=None) == []


def test_loader_workers_do_not_get_it() -> None:
    forked = rank(20, parent=11)
    spawned = Process(21, 11, ("python", "-c", "from multiprocessing.spawn import …"), True)
    served = Process(22, 21, ("python", "-c", "from multiprocessing.forkserver import …"), True)
    assert sigterm_targets([TORCHRUN, rank(11), forked, spawned, served], launcher=10) == [11]


def test_services_do_not_get_it() -> None:
    server = Process(11, 10, ("ray", "raylet"), True, is_service=True)
    assert sigterm_targets([server, rank(12, parent=1)], launcher=None) == [12]


def test_programs_below_a_service_are_services() -> None:
    """Ray's workers are no ranks; what they hold is to be saved."""
    sleep = [sys.executable, "-c", "import time; time.sleep(30)"]
    nested = f"import subprocess; subprocess.run({sleep!r})"
    environment = {**os.environ, TOKEN_VARIABLE: "t0", SERVICE_VARIABLE: "1"}
    program = subprocess.Popen([sys.executable, "-c", nested], env=environment)
    try:
        deadline = time.monotonic() + 10
        while len(script_processes("t0", [])) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        found = script_processes("t0", [])
        assert len(found) == 2
        assert all(process.is_service for process in found)
    finally:
        kill_all("t0", [program.pid], Leftovers())
        program.wait()


def test_spawned_ranks_under_a_plain_parent_get_it() -> None:
    parent = rank(11, parent=1, catches=False)
    spawned = Process(21, 11, ("python", "-c", "from multiprocessing.spawn import …"), True)
    assert sigterm_targets([parent, spawned], launcher=None) == [21]


def test_a_program_below_a_shell_gets_it() -> None:
    shell = Process(11, 1, ("/bin/sh", "run.sh"), False)
    assert sigterm_targets([shell, rank(12, parent=11)], launcher=None) == [12]


def test_a_program_below_a_handling_script_gets_it() -> None:
    inner = Process(12, 11, ("python", "inner.py"), True)
    assert sigterm_targets([rank(11, parent=1), inner], launcher=None) == [11, 12]


_HIDES = """
import os, sys, time
if os.fork():
    os._exit(0)
os.setsid()
# Runs without the token, as daemons do that overwrite what /proc shows of them.
os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(60)"], {"HIDDEN": "1"})
"""


@pytest.mark.slow
def test_a_daemon_without_token_ends_with_the_script() -> None:
    """Runs in a process of its own, which adopts every orphan below it."""
    program = f"""
import os, sys, time
from pathlib import Path
from tidewheel_agent.supervision.process_tree import adopt_orphans
from tidewheel_agent.supervision.script import Script
sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
bystander = os.spawnv(os.P_NOWAIT, sys.executable, sleep)
script = Script([sys.executable, "-c", {_HIDES!r}], environment={{}}, directory=Path("/"),
    on_line=print, owns_children=adopt_orphans())
script.leave_alone(bystander)
assert script.wait(20) == 0
left = script.processes()
script.kill()
after = script.processes()
os.kill(bystander, 0)
os.kill(bystander, 9)
print(len(left), len(after))
"""
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": f"{AGENT}{os.pathsep}{AGENT / 'for_scripts'}"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.stdout.split() == ["1", "0"], ended.stderr
