"""Trains workloads with a known cause for some seconds each, and keeps what the doctor reads.

The points are those of the agent, taken every 1.5 s in place of 10 s, so that a verdict needs
seconds of a GPU and not a minute.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hosts import TRAINING

sys.path[:0] = [str(TRAINING / "agent")]

from tidewheel_agent.evidence.cells import read_counts  # noqa: E402
from tidewheel_agent.evidence.point import Place  # noqa: E402
from tidewheel_agent.evidence.recorder import EvidenceRecorder, Start  # noqa: E402
from tidewheel_agent.metrics.counters import MachineCounters, Reading  # noqa: E402
from tidewheel_agent.metrics.nvml import open_gpus  # noqa: E402

_POINT_SECONDS = 1.5
_LOOK_SECONDS = 0.25
_WARM_STEPS = 8
_START_SECONDS = 90.0
_STEPS_OF_JOB = 20_000
_TYPE = "p5.4xlarge"
_ALTERNATIVES = ("g5.4xlarge", "g6e.4xlarge", "g4dn.xlarge", "c7i.4xlarge", "p4d.24xlarge")


@dataclass(frozen=True)
class Workload:
    """`expected`: the cause, by construction."""

    name: str
    expected: str
    arguments: tuple[str, ...]


WORKLOADS = (
    Workload("decoding-alone", "too-few-workers", ("--photographs=512",)),
    Workload("decoding-workers", "", ("--photographs=512", "--workers=14")),
    Workload("batch-of-2", "batch-too-small", ("--batch=2", "--workers=2")),
    Workload("batch-of-64", "", ("--batch=64", "--workers=12")),
    Workload("batch-of-256", "nothing-wrong", ("--batch=256", "--workers=14")),
    Workload(
        "small-model",
        "accelerator-too-large",
        ("--width=64", "--depth=1", "--batch=32", "--workers=12"),
    ),
    Workload(
        "small-model-batch",
        "hand-over",
        ("--width=64", "--depth=1", "--batch=1024", "--workers=14"),
    ),
    Workload(
        "small-model-unpinned",
        "",
        ("--width=64", "--depth=1", "--batch=1024", "--workers=14", "--unpinned"),
    ),
    Workload(
        "float32",
        "compute-bound-in-float32",
        ("--batch=64", "--workers=12", "--precision=float32"),
    ),
    Workload(
        "tf32", "compute-bound-in-float32", ("--batch=64", "--workers=12", "--precision=tf32")
    ),
)


class _OftenRecorder(EvidenceRecorder):
    def _interval(self, _now: float) -> float:
        return _POINT_SECONDS


def measure(names: Sequence[str], root: Path, device: str, seconds: float) -> list[dict[str, Any]]:
    """For each workload its rate, and the file for `tidewheel doctor --evidence`."""
    chosen = [each for each in WORKLOADS if not names or each.name in names]
    return [_measure(each, root / each.name, device, seconds) for each in chosen]


def _measure(workload: Workload, folder: Path, device: str, seconds: float) -> dict[str, Any]:
    cells = folder / "cells"
    cells.mkdir(parents=True)
    environment = {
        **os.environ,
        "PYTHONPATH": str(TRAINING / "instrument"),
        "TIDEWHEEL_INSTRUMENT_DIR": str(cells),
    }
    script = Path(__file__).parent / "scripts" / "workload.py"
    argv = [sys.executable, str(script), "--device", device, *workload.arguments]
    began = Start(time.time(), time.monotonic(), 0.0, 0.0, "on")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(argv, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        _await_steps(process, cells, folder / "log")
        readings = _observe(process, folder, cells, began, seconds)
    finally:
        process.kill()
        process.wait()
    points = _lines(folder, "*.jsonl")
    phases = next((folder / "tidewheel-evidence").glob("*-phases.json"))
    known = json.loads(phases.read_text())["phases"]
    middle = points[1:-1]
    steps = sum(point["steps"] for point in middle)
    elapsed = sum(point["seconds"] for point in middle)
    batch = points[-1]["loader"]["batchSize"] or 0
    return {
        "name": workload.name,
        "expected": workload.expected,
        "stepSeconds": round(elapsed / max(1, steps), 6),
        "samplesPerSecond": round(steps * batch / elapsed, 1),
        "gpuBusy": _mean([each.gpu_percent for each in readings]),
        "gpuWatts": _mean([each.gpu_watts for each in readings]),
        "evidence": {
            "points": points,
            "phases": {name: value or 0.0 for name, value in known.items()},
            "data": {"bytes": 0, "files": 1},
            "inputMode": "File",
            "instanceType": _TYPE,
            "alternatives": list(_ALTERNATIVES),
            "steps": _STEPS_OF_JOB,
        },
    }


def _await_steps(process: subprocess.Popen[bytes], cells: Path, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        counts = read_counts(cells, time.monotonic())
        if any(each.steps >= _WARM_STEPS for each in counts if each.is_trainer):
            return
        time.sleep(0.1)
    raise RuntimeError(f"the workload made no steps:\n{log.read_text()[-2000:]}")


def _observe(
    process: subprocess.Popen[bytes], folder: Path, cells: Path, began: Start, seconds: float
) -> list[Reading]:
    counters = MachineCounters(open_gpus())
    place = Place(0, os.cpu_count() or 1)
    recorder = _OftenRecorder(folder, 1, "host", place, cells, began)
    readings = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        readings.append(counters.read())
        recorder.observe(readings[-1])
        time.sleep(_LOOK_SECONDS)
    counters.close()
    return readings


def _lines(folder: Path, pattern: str) -> list[dict[str, Any]]:
    path = next((folder / "tidewheel-evidence").glob(pattern))
    return [json.loads(line) for line in path.read_text().splitlines()]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return round(sum(known) / len(known), 1) if known else None
