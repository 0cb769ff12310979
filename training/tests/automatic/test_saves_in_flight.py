"""Saves become due faster than they can be written, and the script is killed: two minutes.

`pytest -m heavy tests/automatic/test_saves_in_flight.py`
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hosts import TRAINING
from tidewheel_automatic import storage

PATHS = [TRAINING / "automatic", TRAINING / "agent" / "for_scripts"]
SCRIPT = Path(__file__).parent / "scripts" / "large_script.py"


def start(folder: Path, requests: Path, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(SCRIPT)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, PATHS)),
            "OMP_NUM_THREADS": "1",
            "STEPS": "300",
            "TIDEWHEEL_AUTOMATIC_DIR": str(folder),
            "TIDEWHEEL_SAVE_FILE": str(requests),
            **variables,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def kill_while_saves_are_asked_for(folder: Path, requests: Path, seed: int) -> None:
    with start(folder, requests) as script:
        assert script.stdout is not None
        script.stdout.readline()
        until = time.monotonic() + random.Random(seed).uniform(0.05, 2)
        while time.monotonic() < until and script.poll() is None:
            requests.touch()
            time.sleep(0.01)
        script.send_signal(signal.SIGKILL)


@pytest.mark.heavy
@pytest.mark.timeout(1800)
def test_kills_leave_whole_checkpoints_and_the_same_weights(tmp_path: Path) -> None:
    requests = tmp_path / "save"
    with start(tmp_path / "whole", requests) as undisturbed:
        expected = undisturbed.communicate()[0].splitlines()[-1]
    assert expected.startswith("digest ")
    saved = 0
    for seed in range(8):
        folder = tmp_path / str(seed)
        kill_while_saves_are_asked_for(folder, requests, seed)
        marked = sorted(
            (int(path.parent.name[5:]) for path in folder.glob("step-*/COMPLETE.json")),
            reverse=True,
        )
        assert storage.whole_steps(folder, 0, 0, 1) == marked
        saved += bool(marked)
        requests.unlink()
        with start(folder, requests) as resumed:
            out, err = resumed.communicate()
        assert out.splitlines()[-1] == expected
        if marked:
            assert f"restored after step {marked[0]}" in err
    assert saved >= 4
