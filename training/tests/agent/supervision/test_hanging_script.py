"""A script that hangs is ended where the job says after how long, and the run resumes."""

from __future__ import annotations

from pathlib import Path

from cluster import running
from sagemaker_host import make_host

HANGS = """
import os, time, tidewheel
for step in range(1, 3):
    tidewheel.stepped(1)
    print(f"tidewheel step={step} total=100", flush=True)
    time.sleep(0.5)
leads = os.environ["SM_CURRENT_HOST"] == "127.0.0.1"
time.sleep(600) if leads else [print("computes") or time.sleep(0.1) for _ in range(6000)]
"""
HOSTS = ["127.0.0.1", "127.0.0.2"]


def test_a_hanging_script_ends_its_gang_as_interrupted(tmp_path: Path) -> None:
    bases = [
        make_host(tmp_path / f"ml{n}", script=HANGS, host=host, hosts=HOSTS)
        for n, host in enumerate(HOSTS)
    ]
    with running(bases, TIDEWHEEL_HANG_SECONDS="2", TIDEWHEEL_GRACE_SECONDS="1") as cluster:
        assert cluster.wait(40) == [143, 143], cluster.log()
    failure = (bases[0] / "output" / "failure").read_text()
    assert failure.startswith("Interrupted: host 127.0.0.1 hung"), cluster.log()


WAITS_FIRST = """
import time
time.sleep(4)
print("begins", flush=True)
"""


def test_a_script_may_wait_long_before_its_first_step(tmp_path: Path) -> None:
    base = make_host(tmp_path / "ml", script=WAITS_FIRST)
    with running([base], TIDEWHEEL_HANG_SECONDS="1") as cluster:
        assert cluster.wait(40) == [0], cluster.log()
