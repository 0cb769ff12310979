"""Which checkpoint counts, and the progress note that follows from it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidewheel_agent.checkpoints.checkpoint import find_last_checkpoint
from tidewheel_agent.checkpoints.log_progress import LogProgress
from tidewheel_agent.checkpoints.progress import ProgressReporter


def save(folder: Path, step: int, *, size: int = 10, listed: int | None = None) -> Path:
    target = folder / f"step-{step:08d}"
    target.mkdir(parents=True)
    (target / "state.pt").write_bytes(b"x" * size)
    marker = {
        "step": step,
        "totalSteps": 480,
        "trainingSeconds": 12.5,
        "metrics": {"loss": 0.5},
        "files": {"state.pt": {"bytes": size if listed is None else listed}},
    }
    (target / "COMPLETE.json").write_text(json.dumps(marker))
    return target


def test_a_marker_says_when_the_training_had_the_state(tmp_path: Path) -> None:
    marker = save(tmp_path, 40) / "COMPLETE.json"
    newest = find_last_checkpoint(tmp_path)
    assert newest is not None and newest.holds_state_after(newest.saved_at - 1)
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "takenAt": 1000.5}))
    newest = find_last_checkpoint(tmp_path)
    assert newest is not None
    assert newest.holds_state_after(1000) and not newest.holds_state_after(newest.saved_at - 1)


def test_the_highest_complete_step_counts(tmp_path: Path) -> None:
    for step in (40, 120, 80):
        save(tmp_path, step)
    newest = find_last_checkpoint(tmp_path)
    assert newest is not None
    assert (newest.step, newest.name, newest.total_steps) == (120, "step-00000120", 480)
    assert (newest.training_seconds, newest.metrics, newest.size_bytes) == (12.5, {"loss": 0.5}, 10)


def test_a_checkpoint_without_marker_does_not_count(tmp_path: Path) -> None:
    save(tmp_path, 40)
    (save(tmp_path, 80) / "COMPLETE.json").unlink()
    newest = find_last_checkpoint(tmp_path)
    assert newest is not None and newest.step == 40


def test_a_checkpoint_with_missing_bytes_does_not_count(tmp_path: Path) -> None:
    save(tmp_path, 40)
    save(tmp_path, 80, size=7, listed=10)
    (save(tmp_path, 120) / "state.pt").unlink()
    newest = find_last_checkpoint(tmp_path)
    assert newest is not None and newest.step == 40


@given(st.binary(max_size=60) | st.sampled_from([b"{}", b"[]", b'{"files": []}', b"null"]))
def test_no_content_of_a_marker_breaks_the_search(content: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        save(Path(name), 40)
        (save(Path(name), 80) / "COMPLETE.json").write_bytes(content)
        newest = find_last_checkpoint(Path(name))
        assert newest is not None and newest.step == 40


def test_an_empty_or_missing_folder_has_no_checkpoint(tmp_path: Path) -> None:
    assert find_last_checkpoint(tmp_path) is None
    assert find_last_checkpoint(tmp_path / "nothing") is None


@pytest.mark.parametrize(
    ("line", "step", "metrics"),
    [
        (
            "tidewheel step=120 total=480 loss=0.25 accuracy=0.97",
            120,
            {"loss": 0.25, "accuracy": 0.97},
        ),
        ("[rank0]: tidewheel step=5 total=480", 5, {}),
        ("tidewheel step=7 total=480 loss=nan", 7, {}),
        ("tidewheel step=x total=480", None, {}),
        ("nothing of ours step=9", None, {}),
    ],
)
def test_the_log_shows_progress(line: str, step: int | None, metrics: dict[str, float]) -> None:
    log = LogProgress()
    log.read_line(line)
    assert (log.step, log.metrics) == (step, metrics)


def read_progress(folder: Path) -> dict[str, object]:
    note: dict[str, object] = json.loads((folder / "tidewheel-progress.json").read_text())
    return note


def test_the_leader_notes_what_a_checkpoint_proves(tmp_path: Path) -> None:
    reporter = ProgressReporter(tmp_path, leader=True, log_progress=LogProgress())
    reporter.script_started(1_790_000_001, lambda: {"cpuPercent": 42.5})
    os.utime(save(tmp_path, 120) / "COMPLETE.json", (1_790_000_000, 1_790_000_000))
    reporter.check()
    assert read_progress(tmp_path) == {
        "version": 1,
        "step": 120,
        "totalSteps": 480,
        "trainingSeconds": 12.5,
        "usage": {"cpuPercent": 42.5},
        "metrics": {"loss": 0.5},
        "checkpoint": "step-00000120",
        "files": {
            "step-00000120/state.pt": {"bytes": 10, "etag": "336311a016184326ddbdd61edd4eeb52"}
        },
        "updatedAt": "2026-09-21T14:13:20.000Z",
    }


def test_other_hosts_write_no_note(tmp_path: Path) -> None:
    save(tmp_path, 120)
    ProgressReporter(tmp_path, leader=False, log_progress=LogProgress()).check()
    assert not (tmp_path / "tidewheel-progress.json").exists()


def test_the_note_leaves_no_temporary_file(tmp_path: Path) -> None:
    save(tmp_path, 120)
    ProgressReporter(tmp_path, leader=True, log_progress=LogProgress()).check()
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "step-00000120",
        "tidewheel-progress.json",
    ]
