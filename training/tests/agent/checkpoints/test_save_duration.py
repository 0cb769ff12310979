"""How long a save took, of files that keep their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster import running
from sagemaker_host import make_host
from tidewheel_agent.checkpoints.families.found import Found
from tidewheel_agent.checkpoints.formats.files import FileState
from tidewheel_agent.checkpoints.save_duration import Rewrites

COLD_FIRST = """
import os, pathlib, pickle, time
path = pathlib.Path(os.environ["TIDEWHEEL_CHECKPOINT_DIR"], "ckpt.pkl")
for step in range(1, 100):
    data = pickle.dumps({"step": step, "weights": bytes(200_000)})
    with path.open("wb", buffering=0) as file:
        for at in range(0, len(data), 20_000):
            file.write(data[at : at + 20_000])
            time.sleep(0.4 if step == 1 else 0.1)
    time.sleep(1.5)
"""


def test_the_cold_first_save_of_a_file_is_forgotten(tmp_path: Path) -> None:
    """It takes 4.4 s, the others 1.1 s."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "train.py").write_text(COLD_FIRST)
    base = make_host(
        tmp_path / "ml", hyperparameters={"sagemaker_program": "train.py"}, source=source
    )
    with running([base]) as cluster:
        cluster.await_step(1, 30)
        first = cluster.progress()["saveSeconds"]
        cluster.await_step(4, 30)
        later = cluster.progress()["saveSeconds"]
    assert first > 4
    assert 0.4 < later < 2


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
