"""Jobs that are limited to a number of steps end as finished after them."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from agent_runs import run
from cluster import running
from sagemaker_host import make_host

PRINTS = """
import time
for step in range(1, 100_000):
    time.sleep(0.05)
    print(f"tidewheel step={step} total=100000", flush=True)
"""
STEPS = """
import time, torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.utils.data.TensorDataset(torch.randn(80_000, 4))
for (batch,) in torch.utils.data.DataLoader(data, batch_size=8):
    time.sleep(0.02)
    model(batch).sum().backward()
    optimizer.step()
"""
FOLLOWS = """
import os, sys, time
# As ranks do: it fails when its peer has gone.
while os.environ["SM_CURRENT_HOST"] != "127.0.0.1":
    time.sleep(0.2)
    if os.path.exists(os.environ["GONE"]):
        sys.exit("connection reset by peer")
for step in range(1, 100_000):
    time.sleep(0.05)
    print(f"tidewheel step={step} total=100000", flush=True)
"""


def limited(
    folder: Path,
    script: str,
    steps: int,
    host: str = "127.0.0.1",
    hosts: Sequence[str] = ("127.0.0.1",),
) -> Path:
    given = {"tidewheel_script": json.dumps({"steps": steps})}
    return make_host(folder / "ml", script=script, hyperparameters=given, host=host, hosts=hosts)


def blocks(base: Path) -> dict[str, Any]:
    (path,) = (base / "checkpoints" / "tidewheel-evidence").glob("*-steps.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_a_script_is_ended_after_its_printed_steps(tmp_path: Path) -> None:
    base = limited(tmp_path, PRINTS, 20)
    code, log = run(base, TIDEWHEEL_MODEL="required")
    assert code == 0, log
    assert "has made 20 steps, the limit of this job" in log
    assert not (base / "output" / "failure").exists()
    assert blocks(base)["basis"] == "printed"
    assert 20 <= blocks(base)["steps"] < 60


def test_the_hooks_tell_steps_and_samples(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    base = limited(tmp_path, STEPS, 30)
    code, log = run(base)
    assert code == 0, log
    found = blocks(base)
    assert found["basis"] == "hooks"
    # The loader has fetched no batch ahead: without workers it fetches on request.
    assert found["samplesPerStep"] == pytest.approx(8, abs=0.5)
    assert found["steps"] >= 30
    assert len(found["blockSeconds"]) == 10
    assert min(found["blockSeconds"]) >= 0.02


def test_steps_are_measured_by_the_clock_of_the_host(tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    # A host that gets a tenth of its CPUs' time.
    clock.write_bytes(struct.pack("=4d", 0.0, 0.0, 1e9, 1e8))
    base = limited(tmp_path, PRINTS, 20)
    code, log = run(base, TIDEWHEEL_HOST_CLOCK=str(clock))
    assert code == 0, log
    assert blocks(base)["clock"] == "host"
    by_machine = limited(tmp_path / "other", PRINTS, 20)
    code, log = run(by_machine)
    assert code == 0, log
    assert blocks(by_machine)["clock"] == "machine"
    # Single blocks may look short or long: the agent reads several lines at once.
    assert median(blocks(by_machine)["blockSeconds"]) >= 0.045 > max(blocks(base)["blockSeconds"])


def test_a_clock_that_failed_measures_nothing(tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    # Its keeper was gone before the first step.
    clock.write_bytes(struct.pack("=4d", 0.0, 0.0, 1.0, 0.1))
    base = limited(tmp_path, PRINTS, 20)
    code, log = run(base, TIDEWHEEL_HOST_CLOCK=str(clock))
    assert code == 0, log
    assert "the clock of this host failed" in log
    assert blocks(base)["clock"] == "machine"


def test_a_script_that_ends_before_the_limit_has_finished(tmp_path: Path) -> None:
    base = limited(tmp_path, "print('tidewheel step=1 total=1')", 20)
    code, log = run(base)
    assert code == 0, log
    assert "the limit of this job" not in log


def test_a_host_whose_peer_reached_the_limit_first_has_finished(tmp_path: Path) -> None:
    hosts = ["127.0.0.1", "127.0.0.2"]
    gone = tmp_path / "gone"
    script = FOLLOWS.replace('os.environ["GONE"]', repr(str(gone)))
    script += f"    step == 20 and open({str(gone)!r}, 'w').close()\n"
    bases = [limited(tmp_path / host, script, 20, host=host, hosts=hosts) for host in hosts]
    with running(bases) as cluster:
        assert cluster.wait(60) == [0, 0], cluster.log()
