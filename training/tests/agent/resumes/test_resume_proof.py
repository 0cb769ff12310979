"""Whether a script that starts again went on from its checkpoint, with real scripts and kills."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cluster import running, wait_until
from sagemaker_host import make_host
from tidewheel_agent.agent_path import FOR_SCRIPTS
from tidewheel_agent.checkpoints.checkpoint import Checkpoint
from tidewheel_agent.checkpoints.frameworks import FrameworkCheckpoints
from tidewheel_agent.checkpoints.log_progress import LogProgress
from tidewheel_agent.resumes.resume_proof import (
    Earlier,
    Resumed,
    ResumeProof,
    by_checkpoint,
    by_position,
    read_earlier,
)
from tidewheel_agent.series.log_lines import LogLines
from tidewheel_agent.series.point import Point
from tidewheel_agent.series.recorder import SeriesRecorder
from tidewheel_agent.trackers.run_series import RunSeries

SCRIPT = """
import os, pathlib, pickle, time
folder = pathlib.Path(os.environ["TIDEWHEEL_CHECKPOINT_DIR"])
saved = sorted(folder.glob("checkpoint-*.pkl")) if LOADS else []
step = pickle.loads(saved[-1].read_bytes())["step"] if saved else 0
while step < 1000:
    time.sleep(0.1)
    step += 1
    LINE
    if step % 5 == 0:
        (folder / f"checkpoint-{step:04d}.pkl").write_bytes(pickle.dumps({"step": step}))
"""


def host(folder: Path, *, loads: bool, prints: bool) -> Path:
    line = 'print(f"step {step} loss {1 / step}", flush=True)' if prints else ""
    script = SCRIPT.replace("LOADS", str(loads)).replace("LINE", line)
    return make_host(folder / "ml", script=script)


def record(base: Path, attempt: int) -> dict[str, Any] | None:
    path = base / "checkpoints" / "tidewheel-resume" / f"attempt-{attempt}.json"
    found: dict[str, Any] | None = json.loads(path.read_text()) if path.exists() else None
    return found


def play(base: Path, attempt: int) -> str:
    """Kills the host once the second attempt's start is judged, the first at step 10."""
    parameters = {
        "sagemaker_program": "train.py",
        "tidewheel_run_id": "digits-000001",
        "sagemaker_job_name": f"digits-000001-a{attempt}-0a1b2c",
    }
    encoded = {name: json.dumps(value) for name, value in parameters.items()}
    (base / "input" / "config" / "hyperparameters.json").write_text(json.dumps(encoded))

    def is_judged() -> bool:
        found = record(base, attempt)
        return found is not None and "verdict" in found

    with running([base]) as cluster:
        if attempt == 1:
            cluster.await_step(10, 30)
        else:
            wait_until(is_judged, 30, "a verdict")
        cluster.lose_host(0)
        return cluster.log()


@pytest.mark.parametrize("prints", [True, False], ids=["from the log", "from a checkpoint"])
@pytest.mark.parametrize("loads", [True, False], ids=["that loads", "that does not load"])
def test_a_script_is_judged_after_its_first_resume(
    tmp_path: Path, loads: bool, prints: bool
) -> None:
    base = host(tmp_path, loads=loads, prints=prints)
    play(base, 1)
    assert record(base, 1) is None
    log = play(base, 2)
    found = record(base, 2)
    assert found is not None
    assert found["checkpoint"]["step"] >= 10
    verdict = found["verdict"]
    assert verdict["kind"] == ("resumed" if loads else "beganAgain"), log
    assert verdict["evidence"] == ("log" if prints else "checkpoint")
    if not loads:
        assert verdict["beganAt"] == 0
        assert "WARNING: the script began at step 0, although checkpoint-00" in log


def checkpoint(step: int, unit: Any = "step") -> Checkpoint:  # noqa: ANN401
    return Checkpoint(step, "c", None, None, unit=unit)


EARLIER = {"step": Earlier(5, 105, 9), "epoch": Earlier(0, 0, 1)}


@pytest.mark.parametrize(
    ("position", "unit", "kind", "began_at"),
    [
        (5, "step", "beganAgain", 0),
        (30, "step", "beganAgain", 25),
        (100, "step", "resumed", 95),
        (110, "step", "resumed", 100),
    ],
)
def test_the_first_printed_position_tells(
    position: float, unit: str, kind: str, began_at: float
) -> None:
    verdict = by_position(position, unit, EARLIER, checkpoint(100))
    assert verdict is not None
    assert (verdict.kind, verdict.began_at) == (kind, began_at)


def test_positions_that_never_moved_tell_nothing() -> None:
    assert by_position(0, "epoch", EARLIER, checkpoint(100)) is None
    assert by_position(0, "other", EARLIER, checkpoint(100)) is None


def test_steps_that_count_something_else_tell_nothing() -> None:
    of_an_epoch = {"step": Earlier(0, 490, 200)}
    assert by_position(0, "step", of_an_epoch, checkpoint(1500)) is None
    assert by_position(0, "step", of_an_epoch, checkpoint(40)) is None


def test_positions_that_go_on_tell_beside_a_number_that_never_moves() -> None:
    known = {"step": Earlier(1, 120, 12, 120)}
    verdict = by_position(101, "step", known, checkpoint(0))
    assert verdict is not None and (verdict.kind, verdict.stood) == ("resumed", 120)
    assert by_position(1, "step", known, checkpoint(0)) is None
    assert by_position(0, "step", {"step": Earlier(0, 490, 200, 490)}, checkpoint(1500)) is None


def test_xgboost_is_judged_by_its_checkpoints(tmp_path: Path) -> None:
    resumed = Resumed(checkpoint(142), [], {"step": Earlier(0, 141, 9)}, None)
    proof = ResumeProof(tmp_path / "note.json", resumed, tmp_path, LogProgress())
    proof.add(Point(142, {"train-logloss": 0.1}, is_of_start=True))
    assert proof.verdict is None
    proof.saw_checkpoint(replace(checkpoint(6), saved_at=time.time()))
    assert proof.verdict is not None and proof.verdict.kind == "beganAgain"


def test_a_script_whose_files_nobody_knows_resumes_by_its_positions() -> None:
    verdict = by_position(81, "step", {"step": Earlier(0, 90, 9)}, None)
    assert verdict is not None and verdict.kind == "resumed"
    verdict = by_position(0, "step", {"step": Earlier(0, 90, 9)}, None)
    assert verdict is not None and verdict.kind == "beganAgain"


@pytest.mark.parametrize(
    ("step", "seconds", "kind"),
    [
        (10, 10, "beganAgain"),
        (120, 20, "resumed"),
        # At this pace 120 steps may as well have been done since the beginning.
        (120, 115, None),
        (100, 100, "beganAgain"),
        # What was loaded is saved at once.
        (100, 1, None),
    ],
)
def test_the_first_new_checkpoint_tells(step: int, seconds: float, kind: str | None) -> None:
    verdict = by_checkpoint(checkpoint(step), checkpoint(100), seconds=seconds, steps_per_second=1)
    assert (verdict.kind if verdict else None) == kind


def test_checkpoints_of_unknown_position_tell_nothing() -> None:
    saves = checkpoint(3, "saves")
    assert by_checkpoint(saves, checkpoint(9), seconds=9, steps_per_second=None) is None
    epoch = checkpoint(3, "epoch")
    assert by_checkpoint(epoch, checkpoint(9), seconds=9, steps_per_second=None) is None


def test_earlier_positions_end_where_the_checkpoint_was_saved(tmp_path: Path) -> None:
    folder = tmp_path / "tidewheel-series"
    folder.mkdir()
    point = {"unit": "step", "values": {"loss": None}}
    lines = [
        {"startedAt": 1},
        *({**point, "source": "log", "position": p, "at": p} for p in (5, 10, 15, 20)),
        {**point, "source": "csv", "position": 99, "at": 2},
    ]
    text = "\n".join(json.dumps(line) for line in lines)
    (folder / "attempt-1.jsonl").write_text(text + '\n{"source": "lo')
    assert read_earlier(tmp_path, 10.0) == {"step": Earlier(5, 10, 2, 20)}
    assert read_earlier(tmp_path, None) == {"step": Earlier(5, 20, 4, 20)}
    assert read_earlier(tmp_path / "none", None) == {}


def proof_of(folder: Path, log_progress: LogProgress, *names: str) -> ResumeProof:
    """A start with several whole checkpoints, of which the first is taken for the newest."""
    whole = [
        Checkpoint(step, name, None, None, saved_at=step, files={name: step})
        for step, name in enumerate(names, start=1)
    ]
    resumed = Resumed(whole[0], (), {}, None, whole, {name: 9 for name in names})
    return ResumeProof(folder / "attempt-2.json", resumed, folder, log_progress)


READER = """
import sys
for name in sys.argv[1:]:
    open(f"checkpoints/{name}", "rb").read()
open("checkpoints/written.pt", "wb").close()
"""


@pytest.mark.parametrize(
    ("read", "named"),
    [
        (["last.pt"], "last.pt"),
        (["best.pt", "last.pt"], "best.pt"),
        (["link/other.pt", "new.pt"], "best.pt"),
        ([], "best.pt"),
    ],
)
def test_the_checkpoint_that_was_read_is_named(tmp_path: Path, read: list[str], named: str) -> None:
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    for name in ("best.pt", "last.pt", "new.pt", "tidewheel-note.json"):
        (folder / name).touch()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "other.pt").touch()
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    environment = {
        "PYTHONPATH": str(FOR_SCRIPTS),
        "TIDEWHEEL_ENDED_DIR": str(tmp_path),
        "TIDEWHEEL_CHECKPOINT_DIR": str(folder),
    }
    argv = [sys.executable, "-c", READER, *read]
    subprocess.run(argv, cwd=tmp_path, env=environment, check=True)
    proof = proof_of(tmp_path, LogProgress(), "best.pt", "last.pt")
    proof.saw_checkpoint(None)
    note = json.loads((tmp_path / "attempt-2.json").read_text())
    assert note["checkpoint"]["name"] == named
    known = [name for name in read if name in ("best.pt", "last.pt")]
    assert [each["name"] for each in note.get("read") or []] == known


def test_a_replay_is_timed_and_its_points_are_none(tmp_path: Path) -> None:
    base = make_host(tmp_path / "ml", script="")
    log = LogProgress()
    job = SimpleNamespace(checkpoint_dir=base / "checkpoints", base=base, code_dir=tmp_path)
    recorder = SeriesRecorder(base / "checkpoints", 2, None)
    series = RunSeries(recorder, job, log, LogLines())  # type: ignore[arg-type]
    table = base / "checkpoints" / "progress.csv"

    def read(line: str) -> None:
        log.read_line(line)
        series.read(line)

    read("tidewheel: resuming: steps 1 to 40 are done and are not repeated")
    table.write_text("step,reward\n10,1.5\n")
    assert log.is_replaying
    time.sleep(0.05)
    read("tidewheel: restored after step 40: training goes on")
    assert not log.is_replaying and 0.05 <= log.replay_seconds < 5
    table.write_text("step,reward\n10,1.5\n50,3.5\n")
    os.utime(table, (time.time() + 1,) * 2)
    series.close()
    points = [json.loads(line) for line in recorder._path.read_text().splitlines()][1:]
    assert [point["position"] for point in points] == [50]
    proof = proof_of(tmp_path, log, "best.pt")
    assert json.loads((tmp_path / "attempt-2.json").read_text())["replaySeconds"] >= 0
    assert proof.verdict is None


def test_what_did_not_count_is_named(tmp_path: Path) -> None:
    def uncounted() -> str:
        frameworks = FrameworkCheckpoints(tmp_path)
        frameworks.find_last()
        return frameworks.uncounted()

    assert uncounted() == "no file was there"
    (tmp_path / "notes.log").touch()
    assert uncounted() == "notes.log is of no known format"
    (tmp_path / "last.pt").touch()
    assert uncounted().startswith("last.pt is not whole: last.pt has neither the head")
