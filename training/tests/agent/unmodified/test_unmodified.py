"""Lightning, Hugging Face's Trainer and Keras under the agent, in scripts that do not know it.

A minute each: `pytest -m heavy tests/agent/unmodified`. Keras runs in `.venv-tf`, the others in an
environment that this test makes on top of the project's own torch.
"""

from __future__ import annotations

import json
import signal
import time
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

import pytest

from cluster import Cluster, running
from heavy import python_of, python_over_torch
from hosts import TRAINING
from sagemaker_host import make_host

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(1500)]

ROOT = TRAINING.parent
SCRIPTS = Path(__file__).parent
LIMIT_SECONDS = 600
GRACE_SECONDS = 110


def host(folder: Path, script: str) -> Path:
    text = (SCRIPTS / script).read_text()
    return make_host(folder / "host", script=text, hyperparameters={"tidewheel_strategy": "single"})


def agent(base: Path, python: Path, **more: str) -> AbstractContextManager[Cluster]:
    environment = {"AGENT_PYTHON": str(python), "SAVE_TO": str(base / "checkpoints"), **more}
    # Lightning loads MPI, which belongs to the packages of .venv.
    environment["LD_LIBRARY_PATH"] = str(ROOT / ".venv" / "lib")
    return running([base], TIDEWHEEL_SPOT="1", TIDEWHEEL_CPUS="2", **environment)


def measured_steps(base: Path) -> int:
    """That the hooks counted, of all attempts."""
    files = (base / "checkpoints" / "tidewheel-evidence").glob("*.jsonl")
    return sum(json.loads(line)["steps"] for file in files for line in file.open())


def saved_at(note: dict[str, str]) -> float:
    return datetime.fromisoformat(note["updatedAt"].replace("Z", "+00:00")).timestamp()


@pytest.mark.parametrize(
    ("script", "needs_tensorflow"),
    [("lightning_script.py", False), ("trainer_script.py", False), ("keras_script.py", True)],
    ids=["lightning", "trainer", "keras"],
)
def test_an_unmodified_script_stops_after_saving_and_resumes(
    tmp_path: Path, script: str, needs_tensorflow: bool
) -> None:
    python = (
        python_of("tf", "single-tensorflow")
        if needs_tensorflow
        else python_over_torch("frameworks")
    )
    base = host(tmp_path / "first", script)
    progress = base / "checkpoints" / "tidewheel-progress.json"
    with agent(base, python) as first:
        first.await_step(1, LIMIT_SECONDS)
        stopped_at = time.time()
        first.signal_all(signal.SIGTERM)
        assert first.wait(LIMIT_SECONDS) == [143], first.log()
        assert time.time() - stopped_at < GRACE_SECONDS
        assert "is new and complete: ending it" in first.log()
    note = json.loads(progress.read_text())
    # What the script had done before the warning is not lost.
    assert saved_at(note) > stopped_at
    saved = base / "checkpoints" / note["checkpoint"]
    assert saved.exists() or list(saved.parent.glob(f"{saved.name}.*"))

    with agent(base, python) as second:
        assert second.wait(LIMIT_SECONDS) == [0], second.log()
        assert f"resumable from {note['checkpoint']}" in second.log()
    resume = base / "checkpoints" / "tidewheel-resume" / "attempt-1.json"
    assert json.loads(resume.read_text())["verdict"]["kind"] == "resumed"
    assert any((base / "model").iterdir())
    assert measured_steps(base) > 0


def test_hugging_faces_jit_checkpoint_saves_on_the_signal(tmp_path: Path) -> None:
    base, python = host(tmp_path / "first", "trainer_script.py"), python_over_torch("frameworks")
    with agent(base, python, JIT_CHECKPOINT="1") as first:
        first.await_step(90, LIMIT_SECONDS)
        stopped_at = time.time()
        first.signal_all(signal.SIGTERM)
        assert first.wait(LIMIT_SECONDS) == [143], first.log()
        assert "SIGTERM passed on" in first.log()
    note = first.progress()
    assert saved_at(note) > stopped_at
    # It does not wait for its next regular save.
    assert 90 < note["step"] < 180
