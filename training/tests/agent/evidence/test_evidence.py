"""What the agent makes of the counts of the script's processes, without a framework."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_runs import run
from hosts import TRAINING
from sagemaker_host import make_host
from tidewheel_agent.evidence import cells as readers
from tidewheel_agent.evidence.host_state import Memory
from tidewheel_agent.evidence.point import Between, Look, Place, point_between
from tidewheel_agent.evidence.recorder import EvidenceRecorder, Start
from tidewheel_agent.metrics.counters import Reading
from tidewheel_instrument import cells as writers
from tidewheel_instrument import tensorflow_input
from tidewheel_instrument.meter import Meter

Values = Any
"""The cells of one process: a memoryview of doubles."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cells").mkdir()
    return tmp_path / "cells"


class Host:
    """A recorder whose clock the test moves."""

    def __init__(self, tmp_path: Path, cells: Path, *, resumes: bool = False) -> None:
        self.path = tmp_path / "checkpoints" / "tidewheel-evidence"
        self.now = time.monotonic()
        start = Start(1e9, self.now - 20, 3.0, None, "on", resumes)
        folder = tmp_path / "checkpoints"
        self.recorder = EvidenceRecorder(folder, 2, "algo-1", Place(1, 4), cells, start)
        self.cpu = 0.0

    def pass_seconds(self, seconds: int) -> None:
        for _ in range(seconds):
            self.now += 1.0
            self.cpu += 2.0
            self.recorder.observe(self.reading())

    def reading(self) -> Reading:
        return Reading(
            at=self.now,
            wall=1_800_000_000 + self.now,
            cpu_seconds=self.cpu,
            memory_bytes=10,
            gpu_percent=50.0,
            gpu_memory_bytes=(1, 4),
            gpu_watts=70.5,
        )

    def points(self) -> list[dict[str, Any]]:
        lines = (self.path / "2-algo-1.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def start(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.path / "2-algo-1-phases.json").read_text())
        return document


@pytest.fixture
def host(tmp_path: Path, folder: Path) -> Host:
    host = Host(tmp_path, folder)
    host.recorder.observe(host.reading())
    return host


@pytest.fixture
def trainer(folder: Path) -> Iterator[Values]:
    """The cells of a process that lives as long as the test."""
    values = writers.Cells(str(folder), writers.TRAINER).values
    yield values


def count_steps(values: Values, steps: int, at: float, each: float) -> None:
    done = int(values[writers.STEPS])
    for number in range(steps):
        end = at + each * (number + 1)
        values[writers.RING + (done + number) % writers.RING_LENGTH] = end
    values[writers.STEPS] = done + steps


@pytest.mark.parametrize(
    ("own", "others", "machine_cores", "expected"),
    [
        (0.5, 1.0, 0, 0.5),
        (0.5, 1.0, 4, 0.5),
        (0.5, 2.25, 4, 0.75),
        (0.5, 3.5, 4, 2.0),
        (2.5, 3.0, 4, 2.5),
    ],
)
def test_other_programs_take_cores_of_a_shared_host(
    own: float, others: float, machine_cores: int, expected: float
) -> None:
    def look(at: float) -> Look:
        others_now = others * at if machine_cores else None
        reading = Reading(at=at, wall=at, cpu_seconds=own * at, other_cpu_seconds=others_now)
        return Look(reading, Memory(4, 1, 1, 0), [], {})

    point = point_between(look(0.0), look(10.0), Between([], 0.0, None), Place(0, 2, machine_cores))
    assert point.cpu.all == expected


def test_ten_seconds_of_steps_are_a_point(host: Host, trainer: Values) -> None:
    trainer[writers.ASKED_FIRST_BATCH] = host.now - 8
    trainer[writers.GOT_FIRST_BATCH] = host.now - 6
    trainer[writers.FIRST_STEP] = host.now - 5
    trainer[writers.WAIT], trainer[writers.SAVE], trainer[writers.EXCHANGE] = 5.0, 1.0, 0.5
    trainer[writers.SAMPLES], trainer[writers.KNOWS_SAMPLES] = 640, 1
    trainer[writers.WORKERS], trainer[writers.BATCH_SIZE] = 2, 32
    trainer[writers.THREADS], trainer[writers.PIN_CPU] = 8, 7.5
    trainer[writers.RESTART], trainer[writers.RESTARTS] = 2.5, 3
    count_steps(trainer, 20, host.now, 0.5)
    host.pass_seconds(10)
    (point,) = host.points()
    assert point["shares"] == {"wait": 0.5, "compute": 0.35, "save": 0.1, "exchange": 0.05}
    assert (point["steps"], point["samples"], point["seconds"]) == (20, 640, 10.0)
    assert point["stepSeconds"] == {"median": 0.5, "p95": 0.5}
    assert point["loader"] == {
        "workers": 2,
        "workerBusy": 0.0,
        "batchSize": 32,
        "pinBusy": 0.75,
        "restarts": {"share": 0.25, "count": 3},
    }
    assert point["cpu"]["threads"] == 8
    assert (point["host"], point["processes"], point["cpu"]["all"]) == (1, 1, 2.0)
    assert point["gpu"] == {
        "busy": 0.5,
        "memoryUsedBytes": 1,
        "memoryTotalBytes": 4,
        "powerWatts": 70.5,
    }
    assert host.start()["phases"] == {
        "download": None,
        "install": 3.0,
        "scriptStart": 12.0,
        "firstBatch": 2.0,
        "firstStep": 1.0,
    }
    assert host.recorder.minute() == {
        "samples_per_second": 64.0,
        "step_seconds": 0.5,
        "step_seconds_p95": 0.5,
    }
    assert host.recorder.minute() == {}


def test_a_wait_that_goes_on_counts(host: Host, trainer: Values) -> None:
    trainer[writers.ASKED_FIRST_BATCH] = host.now
    trainer[writers.SINCE], trainer[writers.DOING] = host.now, writers.WAIT
    host.pass_seconds(10)
    trainer[writers.WAIT], trainer[writers.DOING] = 20.0, 0.0
    host.pass_seconds(10)
    assert [point["shares"]["wait"] for point in host.points()] == [1.0, 1.0]


def test_more_steps_than_the_ring_holds(host: Host, trainer: Values) -> None:
    count_steps(trainer, 9000, host.now, 0.001)
    host.pass_seconds(10)
    (point,) = host.points()
    assert point["steps"] == 9000
    assert point["stepSeconds"]["median"] == pytest.approx(0.001)


_WORKER = """
import sys, time
from tidewheel_instrument.meter import Meter
meter = Meter(sys.argv[1])
began = meter.begin_fetch()
end = time.monotonic() + 0.2
decoding = meter.begin_decode()
while time.monotonic() < end: pass
meter.end_decode(decoding)
meter.end_fetch(began)
"""


def test_workers_count_apart_and_once(host: Host, trainer: Values, folder: Path) -> None:
    trainer[writers.WORKERS] = 1
    count_steps(trainer, 10, host.now, 1.0)
    subprocess.run(
        [sys.executable, "-c", _WORKER, str(folder)],
        env={"PYTHONPATH": str(TRAINING / "instrument")},
        check=True,
    )
    host.pass_seconds(10)
    count_steps(trainer, 10, host.now, 1.0)
    host.pass_seconds(10)
    first, second = host.points()
    assert first["loader"]["workerBusy"] >= 0.02
    assert 0 < first["loader"]["decodeShare"] <= 1
    assert "decodeShare" not in second["loader"]
    assert 0 < first["cpu"]["workers"] <= 0.05
    assert (second["loader"]["workerBusy"], second["cpu"]["workers"]) == (0.0, 0.0)


def test_ranks_of_a_host_are_one_point(host: Host, trainer: Values, folder: Path) -> None:
    other = folder / "1.cells"
    for number, (exchange, rank) in enumerate(((4.0, 2), (0.0, 3))):
        trainer[writers.EXCHANGE], trainer[writers.RANK] = exchange, rank
        trainer[writers.SAMPLES], trainer[writers.KNOWS_SAMPLES] = 80, 1
        trainer[writers.STEPS] = 0
        count_steps(trainer, 10, host.now, 1.0)
        if number == 0:
            # A process that lives, whatever it is.
            other.write_bytes(bytes(trainer.cast("B")))
    host.pass_seconds(10)
    (point,) = host.points()
    assert (point["processes"], point["rank"], point["steps"], point["samples"]) == (2, 2, 10, 160)
    assert point["shares"]["exchange"] == 0.2
    assert point["rankSkewSeconds"] == pytest.approx(0.4)


def test_a_hook_that_failed_is_told_once(
    host: Host, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    Meter(str(folder)).remove("torch.save", TypeError("no such argument"))
    host.pass_seconds(20)
    hooks = {"kind": "removed", "hook": "torch.save", "reason": "TypeError: no such argument"}
    assert host.start()["hooks"] == hooks
    assert capfd.readouterr().out.count("the script runs on unmeasured: torch.save") == 1


def test_a_script_without_steps_still_has_points(host: Host) -> None:
    host.pass_seconds(10)
    (point,) = host.points()
    assert (point["processes"], point["steps"], point["samples"]) == (0, 0, None)
    assert point["memory"]["totalBytes"] > point["memory"]["usedBytes"]
    assert host.recorder.pace_of_note.take() == {}


def test_optimizers_that_step_in_turn_are_one_step(folder: Path) -> None:
    meter = Meter(str(folder))
    for optimizer in (1, 2) * 5:
        meter.stepped(optimizer)
    assert meter.values[writers.STEPS] == 5


def test_the_next_training_has_its_own_optimizer(folder: Path) -> None:
    meter = Meter(str(folder))
    for optimizer in (1, 1, 1, 2, 2, 2):
        meter.stepped(optimizer)
    assert meter.values[writers.STEPS] == 6


def test_a_compiled_step_waits_beyond_its_gap(
    host: Host, trainer: Values, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tensorflow_input, "_gaps_of", lambda _iterator: [0.2] * 15)
    dataset = tensorflow_input.TensorFlowInput()
    dataset.took(host)
    count_steps(trainer, 20, host.now, 0.5)
    dataset.stepped(trainer)
    host.pass_seconds(10)
    (point,) = host.points()
    assert point["shares"]["wait"] == pytest.approx(20 * 0.3 / 10)


def test_points_are_fewer_after_six_hours(host: Host) -> None:
    host.now += 6 * 3600
    host.recorder.observe(host.reading())
    host.pass_seconds(120)
    assert [round(point["seconds"]) for point in host.points()] == [6 * 3600, 60, 60]


@pytest.mark.usefixtures("trainer")
def test_a_start_says_the_lines_of_remedies(host: Host, folder: Path) -> None:
    host.pass_seconds(10)
    assert host.start()["lines"] == {}
    (folder / f"{os.getpid()}.loader").write_text("train.py:42 main")
    host.pass_seconds(10)
    assert host.start()["lines"] == {"loader": "train.py:42 main"}


def reads_before_step(values: Values, now: float, seconds: float) -> None:
    values[writers.ASKED_FIRST_BATCH], values[writers.GOT_FIRST_BATCH] = now, now + 1
    values[writers.WAIT] = 1 + seconds


def test_a_resume_that_reads_again_is_told(
    tmp_path: Path, folder: Path, trainer: Values, capsys: pytest.CaptureFixture[str]
) -> None:
    host = Host(tmp_path, folder, resumes=True)
    # The run's first start looked at its validation data before the first step.
    host.path.mkdir(parents=True)
    phases = dict.fromkeys(("download", "install", "scriptStart", "firstBatch", "firstStep"))
    first = {"version": 1, "startedAt": "2026-11-29T00:00:00Z", "phases": phases}
    (host.path / "1-algo-7-phases.json").write_text(
        json.dumps({**first, "hooks": {"kind": "on"}, "batchesBeforeStep": 10.0})
    )
    host = Host(tmp_path, folder, resumes=True)
    host.recorder.observe(host.reading())
    assert host.start()["skipped"] == 0
    reads_before_step(trainer, host.now - 90, 85.0)
    host.pass_seconds(10)
    assert host.start()["skipped"] == host.recorder.skipped_seconds == 75
    assert "read batches for 75 s since it resumed" in capsys.readouterr().out
    # Waits between steps are none of it.
    trainer[writers.WAIT_BEFORE_STEP], trainer[writers.FIRST_STEP] = 96.0, host.now
    trainer[writers.WAIT] = 500.0
    host.pass_seconds(10)
    assert host.start()["skipped"] == 85


def test_a_first_start_skips_nothing(host: Host, trainer: Values) -> None:
    reads_before_step(trainer, host.now - 90, 85.0)
    host.pass_seconds(10)
    assert host.start()["batchesBeforeStep"] == 85
    assert "skipped" not in host.start()
    assert host.recorder.skipped_seconds == 0


def test_hooks_and_agent_agree_on_the_cells() -> None:
    names = (
        *("TRAINER", "WORKER", "WAIT", "SAVE", "EXCHANGE", "FETCH", "RING", "RING_LENGTH"),
        *("STEPS", "INPUT_WAIT", "WAIT_BEFORE_STEP"),
    )
    assert {name: getattr(readers, f"_{name}") for name in names} == {
        name: getattr(writers, name) for name in names
    }


_BREAKS = """
import os, sys
if "TIDEWHEEL_INSTRUMENT_DIR" in os.environ:
    finder = next(each for each in sys.meta_path if type(each).__module__ == "sitecustomize")
    finder.find_spec([], None)
print("runs to its end")
"""


def test_a_script_that_breaks_in_a_hook_runs_without(tmp_path: Path) -> None:
    base = make_host(tmp_path / "ml", script=_BREAKS)
    code, text = run(base)
    assert (code, "runs to its end" in text) == (0, True), text
    assert "train.py begins again without the hooks that measure: TypeError" in text
    start = json.loads(
        (base / "checkpoints/tidewheel-evidence/1-127.0.0.1-phases.json").read_text()
    )
    assert start["hooks"]["kind"] == "removed"
    assert start["hooks"]["reason"].startswith("TypeError: unhashable type")


def test_a_pipeline_declines_the_hooks(tmp_path: Path) -> None:
    script = "import os; print(os.environ.get('TIDEWHEEL_INSTRUMENT_DIR'))"
    given = {"tidewheel_script": '{"instrument": false}'}
    base = make_host(tmp_path / "ml", script=script, hyperparameters=given)
    code, text = run(base)
    assert (code, "None" in text.splitlines()) == (0, True), text
    start = json.loads(
        (base / "checkpoints/tidewheel-evidence/1-127.0.0.1-phases.json").read_text()
    )
    assert start["hooks"] == {"kind": "declined"}
