"""Measuring a host, and what it costs."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hosts import TRAINING
from tidewheel_agent.checkpoints.checkpoint import Checkpoint
from tidewheel_agent.checkpoints.stall_watch import CheckpointWatch
from tidewheel_agent.metrics.counters import MachineCounters, ProcessCounters, Reading
from tidewheel_agent.metrics.data_wait import Waits
from tidewheel_agent.metrics.usage import Summary, UsageRecorder, sample_between, usage_line
from tidewheel_agent.supervision.process_tree import Process


def test_waiting_for_data_is_a_share_of_the_scripts_own_time() -> None:
    before = Reading(at=10, wall=1000, waits=(1.0, 5.0))
    after = Reading(at=11, wall=1001, waits=(1.75, 5.25))
    assert sample_between(before, after, cpus=1).dataWaitPercent == 75.0
    assert "data_wait_percent=75" in usage_line("h", sample_between(before, after, cpus=1))
    # No batch came, or the script does not say.
    assert sample_between(after, after, cpus=1).dataWaitPercent is None
    assert sample_between(Reading(1, 1), Reading(2, 2), cpus=1).dataWaitPercent is None


def test_waits_are_summed_over_processes_that_lived_one_after_the_other(tmp_path: Path) -> None:
    code = (
        "import sys, time, tidewheel\n"
        "def slow():\n"
        "    for item in range(3):\n"
        "        time.sleep(0.1)\n"
        "        yield item\n"
        "for item in tidewheel.batches(slow()):\n"
        "    time.sleep(0.2)\n"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(TRAINING / "agent" / "for_scripts"),
        "TIDEWHEEL_WAITS_DIR": str(tmp_path),
    }
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    spent = Waits(tmp_path).read()
    assert spent is not None
    waited, computed = spent
    assert 0.6 <= waited < 1.1
    assert 1.2 <= computed < 2.0


def test_a_script_that_says_nothing_is_not_guessed_at(tmp_path: Path) -> None:
    assert Waits(tmp_path).read() is None
    assert Waits(tmp_path / "gone").read() is None


def test_a_batch_costs_microseconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEWHEEL_WAITS_DIR", str(tmp_path))
    monkeypatch.syspath_prepend(str(TRAINING / "agent" / "for_scripts"))
    tidewheel = importlib.import_module("tidewheel")
    began = time.process_time()
    for _ in tidewheel.batches(range(20_000)):
        pass
    assert (time.process_time() - began) / 20_000 < 50e-6


def test_rates_are_differences_over_time() -> None:
    before = Reading(
        at=10, wall=1000, cpu_seconds=5, read_bytes=100, received_bytes=0, sent_bytes=9
    )
    after = Reading(
        at=12,
        wall=1002,
        cpu_seconds=8,
        memory_bytes=7,
        read_bytes=300,
        received_bytes=50,
        sent_bytes=1,
    )
    sample = sample_between(before, after, cpus=2)
    assert sample.cpuPercent == 75.0
    assert sample.memoryBytes == 7
    assert sample.diskReadBytesPerSecond == 100
    assert sample.networkReceivedBytesPerSecond == 25
    # A counter that fell tells nothing.
    assert sample.networkSentBytesPerSecond is None
    assert sample.diskWriteBytesPerSecond is None
    assert sample.at == "1970-01-01T00:16:42.000Z"


def test_summary_weighs_samples_by_their_length() -> None:
    summary = Summary()
    summary.add(sample_between(Reading(0, 0, cpu_seconds=0), Reading(1, 1, cpu_seconds=1), 1))
    summary.add(sample_between(Reading(1, 1, cpu_seconds=1), Reading(4, 4, cpu_seconds=1), 1))
    assert summary.mean("cpuPercent") == 25.0
    document = summary.document()
    assert document["peak"] == {"cpuPercent": 100.0}
    assert (document["samples"], document["seconds"]) == (2, 4)


def spin(seconds: float) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def test_processes_of_a_script_are_counted() -> None:
    own = Process(os.getpid(), os.getppid(), ("pytest",), False)
    counters = ProcessCounters(lambda: [own])
    before = counters.read()
    spin(0.5)
    after = counters.read()
    assert before.cpu_seconds is not None and after.cpu_seconds is not None
    assert 0.4 <= after.cpu_seconds - before.cpu_seconds <= 1.5
    assert after.memory_bytes is not None and after.memory_bytes > 10_000_000


def test_the_machine_is_counted() -> None:
    counters = MachineCounters(None)
    before = counters.read()
    spin(0.5)
    after = counters.read()
    assert before.cpu_seconds is not None and after.cpu_seconds is not None
    assert after.cpu_seconds - before.cpu_seconds >= 0.4
    assert after.memory_bytes is not None and after.memory_bytes > 100_000_000
    assert after.received_bytes is not None


def test_recording_takes_less_than_a_hundredth_of_a_core(tmp_path: Path) -> None:
    recorder = UsageRecorder(MachineCounters(None), tmp_path, "algo/1", 2)
    started = time.monotonic()
    recorder.start()
    time.sleep(4.3)
    assert 0 <= recorder.means()["cpuPercent"] <= 100
    assert "gpuPercent" not in recorder.means()
    recorder.close(lambda: {"checkpoints": None})
    seconds = time.monotonic() - started
    lines = [
        json.loads(line) for line in (tmp_path / "usage-algo_1.jsonl").read_text().splitlines()
    ]
    assert 3 <= len(lines) <= 5
    assert all(line["cpuPercent"] >= 0 and line["memoryBytes"] > 0 for line in lines)
    summary = json.loads((tmp_path / "usage-algo_1-summary.json").read_text())
    assert summary["samples"] == len(lines)
    assert summary["samplerCpuSeconds"] < 0.01 * seconds


def test_the_usage_line_fits_metric_definitions() -> None:
    sample = sample_between(
        Reading(0, 0, cpu_seconds=0), Reading(1, 1, cpu_seconds=1, gpu_percent=93.5), 2
    )
    line = usage_line("algo-1", sample)
    assert line == "[tidewheel] usage host=algo-1 cpu_percent=50 gpu_percent=93.5"


def checkpoint(step: int) -> Checkpoint:
    return Checkpoint(step, f"step-{step:08d}", 480, None, size_bytes=10)


def test_a_stall_is_told_once_and_again_when_it_has_doubled() -> None:
    watch = CheckpointWatch(0, 100)
    assert watch.observe(50, checkpoint(1)) == []
    told = [
        now
        for now in range(51, 2000)
        for line in watch.observe(now, checkpoint(1))
        if line.startswith("WARNING")
    ]
    assert told == [350, 650, 1250]
    assert watch.document()["stalls"] == 3


def test_steady_checkpoints_are_no_stall() -> None:
    watch = CheckpointWatch(0, None)
    lines = [line for now in range(0, 4000) for line in watch.observe(now, checkpoint(now // 300))]
    assert not any("WARNING" in line for line in lines)
    assert lines[1] == "checkpoint age_seconds=120 step=0 size_bytes=10"
    assert watch.document() == {
        "count": 14,
        "meanIntervalSeconds": 300.0,
        "sizeBytes": 10,
        "saveSeconds": None,
        "stalls": 0,
    }


@pytest.mark.parametrize(("told", "first"), [(None, 1800), (10.0, 120), (1000.0, 3000)])
def test_the_first_checkpoint_is_waited_for_as_long_as_is_usual(
    told: float | None, first: int
) -> None:
    watch = CheckpointWatch(0, told)
    assert watch.observe(first - 1, None) == []
    assert "WARNING: no new complete checkpoint" in watch.observe(first, None)[0]
