"""Which checkpoint counts, and the progress told from it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidewheel_agent.checkpoints.checkpoint import newest_complete
from tidewheel_agent.checkpoints.progress import LogProgress, ProgressReporter


def save(folder: Path, step: int, *, size: int = 10, said: int | None = None) -> Path:
    target = folder / f"step-{step:08d}"
    target.mkdir(parents=True)
    (target / "state.pt").write_bytes(b"x" * size)
    marker = {
        "step": step,
        "totalSteps": 480,
        "trainingSeconds": 12.5,
        "metrics": {"loss": 0.5},
        "files": {"state.pt": {"bytes": size if said is None else said}},
    }
    (target / "COMPLETE.json").write_text(json.dumps(marker))
    return target


def test_finds_the_highest_complete_step(tmp_path: Path) -> None:
    for step in (40, 120, 80):
        save(tmp_path, step)
    newest = newest_complete(tmp_path)
    assert newest is not None
    assert (newest.step, newest.name, newest.total_steps) == (120, "step-00000120", 480)
    assert (newest.training_seconds, newest.metrics, newest.size_bytes) == (12.5, {"loss": 0.5}, 10)


def test_passes_over_a_checkpoint_without_its_marker(tmp_path: Path) -> None:
    save(tmp_path, 40)
    (save(tmp_path, 80) / "COMPLETE.json").unlink()
    newest = newest_complete(tmp_path)
    assert newest is not None and newest.step == 40


def test_passes_over_a_checkpoint_that_lost_a_part_on_the_way(tmp_path: Path) -> None:
    save(tmp_path, 40)
    save(tmp_path, 80, size=7, said=10)
    (save(tmp_path, 120) / "state.pt").unlink()
    newest = newest_complete(tmp_path)
    assert newest is not None and newest.step == 40


@given(st.binary(max_size=60) | st.sampled_from([b"{}", b"[]", b'{"files": []}', b"null"]))
def test_no_marker_content_breaks_the_search(content: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        save(Path(name), 40)
        (save(Path(name), 80) / "COMPLETE.json").write_bytes(content)
        newest = newest_complete(Path(name))
        assert newest is not None and newest.step == 40


def test_an_empty_or_missing_folder_has_none(tmp_path: Path) -> None:
    assert newest_complete(tmp_path) is None
    assert newest_complete(tmp_path / "nothing") is None


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
def test_reads_progress_lines(line: str, step: int | None, metrics: dict[str, float]) -> None:
    log = LogProgress()
    log.read_line(line)
    assert (log.step, log.metrics) == (step, metrics)


def read_progress(folder: Path) -> dict[str, object]:
    said: dict[str, object] = json.loads((folder / "tidewheel-progress.json").read_text())
    return said


def test_leader_writes_what_a_checkpoint_proves(tmp_path: Path) -> None:
    reporter = ProgressReporter(tmp_path, leader=True, log=LogProgress())
    reporter.measured_by(lambda: {"cpuPercent": 42.5})
    os.utime(save(tmp_path, 120) / "COMPLETE.json", (1_790_000_000, 1_790_000_000))
    reporter.look()
    assert read_progress(tmp_path) == {
        "step": 120,
        "totalSteps": 480,
        "trainingSeconds": 12.5,
        "usage": {"cpuPercent": 42.5},
        "metrics": {"loss": 0.5},
        "checkpoint": "step-00000120",
        "updatedAt": "2026-09-21T14:13:20.000Z",
    }


def test_other_hosts_write_nothing(tmp_path: Path) -> None:
    save(tmp_path, 120)
    ProgressReporter(tmp_path, leader=False, log=LogProgress()).look()
    assert not (tmp_path / "tidewheel-progress.json").exists()


def test_no_temporary_file_stays(tmp_path: Path) -> None:
    save(tmp_path, 120)
    ProgressReporter(tmp_path, leader=True, log=LogProgress()).look()
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "step-00000120",
        "tidewheel-progress.json",
    ]
