"""What a host measures, and what the measurement costs."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from cluster import wait_until
from hosts import TRAINING
from tidewheel_agent.metrics.counters import MachineCounters, ProcessCounters, Reading
from tidewheel_agent.metrics.usage import (
    DataWait,
    Summary,
    UsageRecorder,
    mean_between,
    sample_between,
    usage_line,
)
from tidewheel_agent.supervision.process_tree import Process


def test_data_wait_is_a_share_of_the_scripts_time() -> None:
    before = Reading(at=10, wall=1000, data_wait=(1.0, 5.0))
    after = Reading(at=11, wall=1001, data_wait=(1.75, 5.25))
    assert sample_between(before, after, cpus=1).dataWaitPercent == 75.0
    assert "data_wait_percent=75" in usage_line("h", sample_between(before, after, cpus=1))
    # No share without a batch in the interval, nor without measurements.
    assert sample_between(after, after, cpus=1).dataWaitPercent is None
    assert sample_between(Reading(1, 1), Reading(2, 2), cpus=1).dataWaitPercent is None


def test_a_published_minute_is_its_mean_and_no_single_sample() -> None:
    readings = [
        Reading(at=at, wall=at, cpu_seconds=busy, memory_bytes=gigabytes, gpu_percent=gpu)
        for at, busy, gigabytes, gpu in [(0, 0, 1, 0), (1, 1, 4, 100), (2, 1, 2, 50), (4, 1, 6, 0)]
    ]
    samples = Summary()
    for before, after in pairwise(readings):
        samples.add(sample_between(before, after, cpus=1))
    mean = mean_between(readings[0], readings[-1], 1, samples)
    assert (mean.cpuPercent, mean.gpuPercent, mean.memoryBytes) == (25.0, 37.5, 4)
    assert mean.seconds == 4


def test_data_wait_includes_processes_that_have_ended(tmp_path: Path) -> None:
    """The script's own clock bounds both, however long a sleep takes on a busy machine."""
    code = (
        "import time, tidewheel\n"
        "now = time.monotonic\n"
        "waited = computed = 0.0\n"
        "def slow():\n"
        "    global waited\n"
        "    for item in range(3):\n"
        "        began = now()\n"
        "        time.sleep(0.1)\n"
        "        waited += now() - began\n"
        "        yield item\n"
        "started = now()\n"
        "for item in tidewheel.batches(slow()):\n"
        "    began = now()\n"
        "    time.sleep(0.2)\n"
        "    computed += now() - began\n"
        "print(waited, computed, now() - started)\n"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(TRAINING / "agent" / "for_scripts"),
        "TIDEWHEEL_DATA_WAIT_DIR": str(tmp_path),
    }
    measured = []
    for _ in range(2):
        command = [sys.executable, "-c", code]
        text = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout
        measured.append([float(word) for word in text.split()])
    least_waited, least_computed, whole = map(sum, zip(*measured, strict=True))
    seconds = DataWait(tmp_path).read()
    assert seconds is not None
    waited, computed = seconds
    assert least_waited >= 0.6 and least_computed >= 1.2
    assert least_waited <= waited <= whole - least_computed
    assert least_computed <= computed <= whole - least_waited


def test_a_script_without_measurements_has_no_data_wait(tmp_path: Path) -> None:
    assert DataWait(tmp_path).read() is None
    assert DataWait(tmp_path / "gone").read() is None


def test_measuring_a_batch_takes_microseconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEWHEEL_DATA_WAIT_DIR", str(tmp_path))
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
    # A counter that fell has no rate.
    assert sample.networkSentBytesPerSecond is None
    assert sample.diskWriteBytesPerSecond is None
    assert sample.at == "1970-01-01T00:16:42.000Z"


def test_the_summary_weighs_samples_by_length() -> None:
    summary = Summary()
    summary.add(sample_between(Reading(0, 0, cpu_seconds=0), Reading(1, 1, cpu_seconds=1), 1))
    summary.add(sample_between(Reading(1, 1, cpu_seconds=1), Reading(4, 4, cpu_seconds=1), 1))
    assert summary.mean("cpuPercent") == 25.0
    document = summary.as_dict()
    assert document["peak"] == {"cpuPercent": 100.0}
    assert (document["samples"], document["seconds"]) == (2, 4)


def spin(seconds: float) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def test_process_counters_measure_the_scripts_processes() -> None:
    own = Process(os.getpid(), os.getppid(), ("pytest",), False)
    counters = ProcessCounters(lambda: [own])
    before = counters.read()
    spin(0.5)
    after = counters.read()
    assert before.cpu_seconds is not None and after.cpu_seconds is not None
    assert 0.4 <= after.cpu_seconds - before.cpu_seconds <= 1.5
    assert after.memory_bytes is not None and after.memory_bytes > 10_000_000


def test_process_counters_tell_other_programs_apart() -> None:
    own = Process(os.getpid(), os.getppid(), ("pytest",), False)
    counters = ProcessCounters(lambda: [own])
    before = counters.read()
    program = "import time\nwhile time.process_time() < 0.5: pass"
    subprocess.run([sys.executable, "-I", "-S", "-c", program], check=True)
    after = counters.read()
    assert before.other_cpu_seconds is not None and after.other_cpu_seconds is not None
    assert after.other_cpu_seconds - before.other_cpu_seconds >= 0.4


def test_machine_counters_measure_the_machine() -> None:
    counters = MachineCounters(None)
    before = counters.read()
    spin(0.5)
    after = counters.read()
    assert before.cpu_seconds is not None and after.cpu_seconds is not None
    assert after.cpu_seconds - before.cpu_seconds >= 0.4
    assert after.memory_bytes is not None and after.memory_bytes > 100_000_000
    assert after.received_bytes is not None


def test_recording_takes_less_than_one_percent_of_a_core(tmp_path: Path) -> None:
    recorder = UsageRecorder(MachineCounters(None), tmp_path, "algo/1", 2)
    started = time.monotonic()
    recorder.start()
    path = tmp_path / "usage-algo_1.jsonl"
    wait_until(lambda: path.exists() and path.read_text().count("\n") >= 3, 60, "three samples")
    assert 0 <= recorder.means()["cpuPercent"] <= 100
    assert "gpuPercent" not in recorder.means()
    recorder.close(lambda: {"checkpoints": None})
    seconds = time.monotonic() - started
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    # One each second, and one at the end.
    assert 3 <= len(lines) <= seconds + 1
    assert all(line["cpuPercent"] >= 0 and line["memoryBytes"] > 0 for line in lines)
    summary = json.loads((tmp_path / "usage-algo_1-summary.json").read_text())
    assert summary["samples"] == len(lines)
    assert summary["samplerCpuSeconds"] < 0.01 * seconds


def test_the_usage_line_matches_the_metric_definitions() -> None:
    sample = sample_between(
        Reading(0, 0, cpu_seconds=0), Reading(1, 1, cpu_seconds=1, gpu_percent=93.5), 2
    )
    line = usage_line("algo-1", sample)
    assert line == "[tidewheel] usage host=algo-1 cpu_percent=50 gpu_percent=93.5"
