"""What a killed script leaves in shared memory and as sockets is gone before its next start."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import pytest

from tidewheel_agent.supervision.leftovers import Leftovers
from tidewheel_agent.supervision.script import Script
from tidewheel_agent.supervision.watchdog import Watchdog

PREFIX = f"tw{os.getpid()}"
# As mosaicml-streaming does: a name that each start looks for, attached by every rank.
HOLDS = f"""
import os, socket, sys, time
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
resource_tracker.register = lambda *_: None
name, path = sys.argv[1:]
shared = SharedMemory(name, True, 64)
try:
    other = SharedMemory("{PREFIX}-other", False)
except FileNotFoundError:
    pass
server = socket.socket(socket.AF_UNIX)
server.bind(path)
print("ready", flush=True)
time.sleep(60)
"""


@pytest.fixture
def others() -> Iterator[SharedMemory]:
    """A process of another job on this machine."""
    shared = SharedMemory(f"{PREFIX}-other", True, 64)
    yield shared
    shared.close()
    shared.unlink()


def started(name: str, tmp_path: Path) -> Script:
    lines: list[str] = []
    argv = [sys.executable, "-c", HOLDS, name, str(tmp_path / "s")]
    script = Script(argv, environment=os.environ, directory=tmp_path, on_line=lines.append)
    deadline = time.monotonic() + 60
    while "ready" not in lines and time.monotonic() < deadline:
        assert script.poll() is None, lines
        time.sleep(0.02)
    return script


def test_a_killed_script_can_make_its_names_again(tmp_path: Path, others: SharedMemory) -> None:
    for _ in (1, 2):
        script = started(f"{PREFIX}-000000_locals", tmp_path)
        assert os.path.exists(f"/dev/shm/{PREFIX}-000000_locals")
        script.kill()
        assert not os.path.exists(f"/dev/shm/{PREFIX}-000000_locals")
        assert not (tmp_path / "s").exists()
    assert os.path.exists(f"/dev/shm/{others.name}")


def test_names_of_a_script_that_crashed_are_removed(tmp_path: Path) -> None:
    script = started(f"{PREFIX}-crash", tmp_path)
    script.note_names()
    os.kill(script.pid, 9)
    script.wait(10)
    assert os.path.exists(f"/dev/shm/{PREFIX}-crash")
    script.kill()
    assert not os.path.exists(f"/dev/shm/{PREFIX}-crash")


def test_names_that_another_process_holds_stay(tmp_path: Path) -> None:
    script = started(f"{PREFIX}-shared", tmp_path)
    shared = SharedMemory(f"{PREFIX}-shared", False)
    script.kill()
    assert os.path.exists(f"/dev/shm/{PREFIX}-shared")
    shared.close()
    shared.unlink()


def test_the_watchdog_removes_them_as_well(tmp_path: Path, others: SharedMemory) -> None:
    script = started(f"{PREFIX}-dog", tmp_path)
    watchdog = Watchdog(script.token, script.pid, script.leftovers)
    stdin = watchdog._process.stdin
    assert stdin is not None
    stdin.close()  # The agent is gone without a word.
    assert watchdog._process.wait(60) == 0
    assert not os.path.exists(f"/dev/shm/{PREFIX}-dog")
    assert os.path.exists(f"/dev/shm/{others.name}")


def test_sockets_that_were_there_before_stay(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "before"))
        leftovers = Leftovers()
        leftovers.look([os.getpid()])
    leftovers.remove()
    assert (tmp_path / "before").exists()
