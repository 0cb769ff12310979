"""Who hears SIGTERM."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from hosts import TRAINING
from tidewheel_agent.supervision.process_tree import Process, listeners

TORCHRUN = Process(10, 1, ("python", "-m", "torch.distributed.run", "train.py"), True)


def rank(pid: int, *, parent: int = 10, catches: bool = True) -> Process:
    return Process(pid, parent, ("python", "-u", "train.py"), catches)


def test_ranks_hear_it_and_their_launcher_does_not() -> None:
    assert listeners([TORCHRUN, rank(11), rank(12)], launcher=10) == [11, 12]


def test_a_script_without_a_handler_is_not_killed_by_it() -> None:
    assert listeners([rank(11, parent=1, catches=False)], launcher=None) == []


def test_loader_workers_of_a_listening_rank_do_not_hear_it() -> None:
    forked = rank(20, parent=11)
    spawned = Process(21, 11, ("python", "-c", "from multiprocessing.spawn import …"), True)
    served = Process(22, 21, ("python", "-c", "from multiprocessing.forkserver import …"), True)
    assert listeners([TORCHRUN, rank(11), forked, spawned, served], launcher=10) == [11]


def test_spawned_ranks_of_a_parent_without_a_handler_hear_it() -> None:
    parent = rank(11, parent=1, catches=False)
    spawned = Process(21, 11, ("python", "-c", "from multiprocessing.spawn import …"), True)
    assert listeners([parent, spawned], launcher=None) == [21]


def test_a_program_started_by_a_shell_hears_it() -> None:
    shell = Process(11, 1, ("/bin/sh", "run.sh"), False)
    assert listeners([shell, rank(12, parent=11)], launcher=None) == [12]


def test_a_program_started_by_a_listening_script_hears_it_too() -> None:
    inner = Process(12, 11, ("python", "inner.py"), True)
    assert listeners([rank(11, parent=1), inner], launcher=None) == [11, 12]


_HIDES = """
import os, sys, time
if os.fork():
    os._exit(0)
os.setsid()
# Without the token, as daemons that overwrite what /proc shows of them.
os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(60)"], {"HIDDEN": "1"})
"""


@pytest.mark.slow
def test_a_daemon_that_hides_its_token_ends_with_the_script() -> None:
    """In a process of its own, since it adopts whatever is orphaned below it."""
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
        env={**os.environ, "PYTHONPATH": str(TRAINING / "agent")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.stdout.split() == ["1", "0"], ended.stderr
