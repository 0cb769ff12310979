"""The data of the articles' workloads, and what their command refuses before it starts one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from articles import write_photographs
from common.shards import ImageReader, read_index

_ARTICLES = Path(__file__).parents[2] / "measure" / "articles.py"


def test_too_few_steps_to_tell_a_rate_are_refused() -> None:
    name = "deepfm-multi-worker-mirrored"
    given = [sys.executable, str(_ARTICLES), name, "--steps", "20"]
    done = subprocess.run(given, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"--steps 20: {name} needs 100 or more" in done.stderr


def test_prepared_photographs_hold_the_same_labels_in_fewer_bytes(tmp_path: Path) -> None:
    write_photographs(tmp_path / "raw", count=4)
    write_photographs(tmp_path / "prepared", count=4, side=32)
    raw, prepared = (read_index(tmp_path / name) for name in ("raw", "prepared"))
    assert [(s.key, s.label) for s in raw] == [(s.key, s.label) for s in prepared]
    assert ImageReader(raw[0], 0).shape == (3, 1024, 1024)
    assert ImageReader(prepared[0], 0).shape == (3, 32, 32)
    assert sum(s.size for s in raw) > 10 * sum(s.size for s in prepared)
