"""Lightning, Hugging Face's Trainer and Keras under the agent, in scripts that know nothing of it.

A minute each, in environments of their own: `pytest -m heavy tests/agent/unmodified`. Keras takes
`.venv-tf`; the others an environment that is made here, over the project's own torch.
"""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from cluster import Cluster, running
from heavy import python_of
from hosts import TRAINING
from sagemaker_host import make_host

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(1500)]

ROOT = TRAINING.parent
SCRIPTS = Path(__file__).parent
LOCK = ROOT / "training" / "environments" / "frameworks.lock"
LIMIT_SECONDS = 600
GRACE_SECONDS = 110


def frameworks_python() -> Path:
    """Installed at the first call: what the lock names, over the packages of .venv (torch)."""
    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]
    folder = ROOT / ".tidewheel" / "tools" / f"frameworks-{digest}"
    python = folder / "bin" / "python"
    if (folder / "complete").exists():
        return python
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    site = next((folder / "lib").glob("python3*")) / "site-packages"
    own = next((ROOT / ".venv" / "lib").glob("python3*")) / "site-packages"
    (site / "project.pth").write_text(f"{own}\n")
    uv = ROOT / ".venv" / "bin" / "uv"
    pip = [str(python), "-m", "pip", "install", "--progress-bar=off"]
    quick = [str(uv), "pip", "install", "--python", str(python)]
    installer = quick if uv.exists() else pip
    subprocess.run([*installer, "--no-deps", "-r", str(LOCK)], check=True)
    (folder / "complete").touch()
    return python


def host(folder: Path, script: str) -> Path:
    source = folder / "source"
    source.mkdir(parents=True)
    (source / "train.py").write_text((SCRIPTS / script).read_text())
    told = {"sagemaker_program": "train.py", "tidewheel_strategy": "single"}
    return make_host(folder / "host", source=source, hyperparameters=told)


def agent(base: Path, python: Path) -> AbstractContextManager[Cluster]:
    told = {"AGENT_PYTHON": str(python), "SAVE_TO": str(base / "checkpoints")}
    # Lightning looks for MPI: the one of .venv, whose packages are seen, lies beside them.
    told["LD_LIBRARY_PATH"] = str(ROOT / ".venv" / "lib")
    return running([base], TIDEWHEEL_SPOT="1", TIDEWHEEL_CPUS="2", **told)


@pytest.mark.parametrize(
    ("script", "needs_tensorflow"),
    [("lightning_script.py", False), ("trainer_script.py", False), ("keras_script.py", True)],
    ids=["lightning", "trainer", "keras"],
)
def test_an_unmodified_script_is_stopped_after_its_save_and_goes_on(
    tmp_path: Path, script: str, needs_tensorflow: bool
) -> None:
    python = python_of("tf", "single-tensorflow") if needs_tensorflow else frameworks_python()
    base = host(tmp_path / "first", script)
    progress = base / "checkpoints" / "tidewheel-progress.json"
    with agent(base, python) as first:
        first.await_step(1, LIMIT_SECONDS)
        told_at = time.time()
        first.signal_all(signal.SIGTERM)
        assert first.wait(LIMIT_SECONDS) == [143], first.log()
        assert time.time() - told_at < GRACE_SECONDS
        # On a checkpoint that came after the warning, or by a handler of the framework's own.
        log = first.log()
        assert "is new and complete: ending it" in log or "SIGTERM passed on" in log
    said = json.loads(progress.read_text())
    saved = base / "checkpoints" / said["checkpoint"]
    assert saved.exists() or list(saved.parent.glob(f"{saved.name}.*"))

    with agent(base, python) as second:
        assert second.wait(LIMIT_SECONDS) == [0], second.log()
        assert f"resumable from {said['checkpoint']}" in second.log()
    assert any((base / "model").iterdir())
