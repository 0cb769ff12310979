"""What the command of the articles' workloads refuses before it starts one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_ARTICLES = Path(__file__).parents[2] / "measure" / "articles.py"


def test_too_few_steps_to_tell_a_rate_are_refused() -> None:
    name = "deepfm-multi-worker-mirrored"
    given = [sys.executable, str(_ARTICLES), name, "--steps", "20"]
    done = subprocess.run(given, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"--steps 20: {name} needs 100 or more" in done.stderr
