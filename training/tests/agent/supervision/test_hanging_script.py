"""A script that hangs is ended where the job says after how long, and the run resumes."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from cluster import running, wait_until
from sagemaker_host import make_host
from tidewheel_agent.checkpoints.progress import ProgressReporter
from tidewheel_agent.gang.state import GangState
from tidewheel_agent.supervision.script import Script
from tidewheel_agent.supervision.supervisor import Rules, StopRequest, Supervisor

HOSTS = ["127.0.0.1", "127.0.0.2"]
STEPS = """
import os, signal, sys, time, tidewheel
for step in range(1, 3):
    tidewheel.stepped(1)
    print(f"tidewheel step={step} total=100", flush=True)
    time.sleep(0.5)
host = os.environ["SM_CURRENT_HOST"]
"""


def make_gang(folder: Path, script: str) -> list[Path]:
    return [
        make_host(folder / f"ml{n}", script=STEPS + script, host=host, hosts=HOSTS)
        for n, host in enumerate(HOSTS)
    ]


def test_a_gang_that_hangs_ends_on_all_hosts(tmp_path: Path) -> None:
    waits = """
if host == "127.0.0.2":
    os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(600)
"""
    bases = make_gang(tmp_path, waits)
    with running(bases, TIDEWHEEL_HANG_SECONDS="2") as cluster:
        assert cluster.wait(40) == [143, 143], cluster.log()
    for base in bases:
        failure = (base / "output" / "failure").read_text()
        assert failure.startswith("The script hung (no host computed or printed)"), failure


@pytest.mark.parametrize("busy", HOSTS)
def test_a_host_may_wait_for_another_one(tmp_path: Path, busy: str) -> None:
    computes = f"""
until = time.monotonic() + 7
while host == {busy!r} and time.monotonic() < until:
    sum(range(10_000))
if host != {busy!r}:
    time.sleep(8)
"""
    bases = make_gang(tmp_path, computes)
    with running(bases, TIDEWHEEL_HANG_SECONDS="2", TIDEWHEEL_MODEL="none") as cluster:
        assert cluster.wait(40) == [0, 0], cluster.log()


def test_a_stop_gives_its_grace_to_idle_scripts(tmp_path: Path) -> None:
    saves = """
def leave(*_):
    time.sleep(4)
    print("has saved", flush=True)
    os._exit(0)
signal.signal(signal.SIGTERM, leave)
print("may be stopped", flush=True)
time.sleep(600)
"""
    base = make_host(tmp_path / "ml", script=STEPS + saves)
    with running([base], TIDEWHEEL_HANG_SECONDS="2", TIDEWHEEL_GRACE_SECONDS="20") as cluster:
        wait_until(lambda: "may be stopped" in cluster.log(), 30, "the script waits")
        cluster.signal_all(signal.SIGTERM)
        assert cluster.wait(40) == [143], cluster.log()
    assert "has saved" in cluster.log()


def ends_hung(
    folder: Path, program: str, *, ends_before: bool, stop: StopRequest | None = None
) -> tuple[bool, bool]:
    """Whether it counts as hung, and whether it was killed, once its gang is said to hang."""
    script = Script(
        [sys.executable, "-c", program],
        environment={**os.environ},
        directory=folder,
        on_line=lambda line: None,
    )
    if ends_before:
        assert script.wait(30) is not None
    progress = cast("ProgressReporter", SimpleNamespace(check=lambda: None, save_seconds=0.0))
    rules = Rules(stop_file=folder / "stop", grace_seconds=1.0, can_save=False)
    gang = GangState(has_hung=True)
    end = Supervisor(script, progress, stop or StopRequest(), gang, rules).run()
    return end.has_hung, end.was_killed


def test_a_script_that_finished_meanwhile_has_not_hung(tmp_path: Path) -> None:
    assert ends_hung(tmp_path, "", ends_before=True) == (False, False)
    assert ends_hung(tmp_path, "raise SystemExit(1)", ends_before=True) == (True, False)
    assert ends_hung(tmp_path, "import time; time.sleep(60)", ends_before=False) == (True, True)


WAITS_FIRST = """
import time
time.sleep(4)
print("begins", flush=True)
"""


def test_a_script_may_wait_long_before_its_first_step(tmp_path: Path) -> None:
    base = make_host(tmp_path / "ml", script=WAITS_FIRST)
    with running([base], TIDEWHEEL_HANG_SECONDS="1") as cluster:
        assert cluster.wait(40) == [0], cluster.log()


def test_a_stop_that_comes_with_the_hang_gives_no_grace(tmp_path: Path) -> None:
    """The hosts that ended first brought it."""
    stop = StopRequest()
    stop.set("SIGTERM")
    deaf = "import signal, time; signal.signal(signal.SIGTERM, lambda *_: None); time.sleep(300)"
    assert ends_hung(tmp_path, deaf, ends_before=False, stop=stop) == (False, True)
    assert not (tmp_path / "stop").exists()
