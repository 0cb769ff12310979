"""Whether a script that starts again went on from its checkpoint, with real scripts and kills."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cluster import running, wait_until
from sagemaker_host import make_host
from tidewheel_agent.checkpoints.checkpoint import Checkpoint
from tidewheel_agent.resumes.resume_proof import Earlier, by_checkpoint, by_position, read_earlier

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
    assert read_earlier(tmp_path, 10.0) == {"step": Earlier(5, 10, 2)}
    assert read_earlier(tmp_path, None) == {"step": Earlier(5, 20, 4)}
    assert read_earlier(tmp_path / "none", None) == {}
