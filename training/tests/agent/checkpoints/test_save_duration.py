"""How long a save took, of files that keep their names."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from tidewheel_agent.checkpoints.families.found import Found
from tidewheel_agent.checkpoints.formats.files import FileState
from tidewheel_agent.checkpoints.log_progress import LogProgress
from tidewheel_agent.checkpoints.progress import ProgressReporter
from tidewheel_agent.checkpoints.save_duration import Rewrites

# After the files' true creation, so that only their changes tell how long a save took.
BEGINNING = 4e9


class Training:
    """A script that overwrites its only file, and looks of the agent, on the test's own clock."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "ckpt.pkl"
        self.now = BEGINNING
        self.reporter = ProgressReporter(
            folder,
            leader=True,
            log_progress=LogProgress(),
            now=lambda: self.now,
            monotonic=lambda: self.now,
        )
        self.reporter.script_started(self.now, dict)

    def save(self, step: int, seconds: int) -> None:
        """Writes a part at each full second; the agent looks half a second after each."""
        content = pickle.dumps({"step": step, "weights": bytes(1000)})
        for part in range(seconds + 1):
            end = len(content) * (part + 1) // (seconds + 1)
            self.path.write_bytes(content[:end])
            os.utime(self.path, (self.now, self.now))
            self.now += 0.5
            self.reporter.check()
            self.now += 0.5


def test_the_cold_first_save_of_a_file_is_forgotten(tmp_path: Path) -> None:
    training = Training(tmp_path)
    training.save(1, seconds=0)
    training.save(2, seconds=4)
    assert training.reporter.save_seconds == pytest.approx(4.25)
    training.save(3, seconds=1)
    assert training.reporter.save_seconds == pytest.approx(1.25)


def test_later_saves_weigh_less_than_the_mean(tmp_path: Path) -> None:
    training = Training(tmp_path)
    for step, seconds in enumerate((0, 4, 1, 2), start=1):
        training.save(step, seconds)
    assert training.reporter.save_seconds == pytest.approx(0.7 * 1.25 + 0.3 * 2.25)


def found(size: int, modified_at: float) -> Found:
    state = FileState(size, round(modified_at * 1e9))
    return Found("pickle", "ckpt.pkl", {"ckpt.pkl": state}, None)


def test_a_rewrite_began_between_the_looks_before_and_after_its_first_bytes() -> None:
    rewrites = Rewrites()
    rewrites.look([found(9, 10)], 11)
    rewrites.look([found(9, 10)], 12)
    assert rewrites.began("ckpt.pkl") is None
    rewrites.look([found(2, 12.9)], 13)
    rewrites.look([found(9, 13.8)], 14)
    assert rewrites.began("ckpt.pkl") == pytest.approx((12 + 12.9) / 2)
    assert rewrites.began("ckpt.pkl") is None


def test_a_rewrite_within_one_look_counts_half_of_it() -> None:
    rewrites = Rewrites()
    rewrites.look([found(9, 10)], 11)
    rewrites.look([found(9, 11.4)], 12)
    assert rewrites.began("ckpt.pkl") == pytest.approx(11.2)
