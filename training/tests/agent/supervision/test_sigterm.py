"""Scripts that leave on SIGTERM without saving run to their next checkpoint instead."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from agent_runs import SAVE
from cluster import Cluster, running
from sagemaker_host import make_host
from tidewheel_agent.supervision.script_source import read_source

LEAVES = f"""
import signal, sys, time
{SAVE}
def leave(number, frame):
    sys.exit(0)
signal.signal(getattr(signal, "SIG" "TERM"), leave)
step = len(os.listdir(os.environ["TIDEWHEEL_CHECKPOINT_DIR"]))
while True:
    step += 1
    save(step)
    time.sleep(PAUSE)
"""
LIGHTNING = "try:\n    import lightning\nexcept ImportError:\n    pass\n"


def host(folder: Path, script: str, pause: float) -> Path:
    return make_host(folder / "ml", script=script.replace("PAUSE", str(pause)))


def stop(base: Path, after: int) -> tuple[Cluster, int]:
    """The cluster, and the step that was safe when the stop came."""
    with running([base]) as cluster:
        cluster.await_step(after, 30)
        safe = int(cluster.progress()["step"])
        cluster.signal_all(signal.SIGTERM)
        assert cluster.wait(30) == [143], cluster.log()
        return cluster, safe


def test_a_script_of_lightning_is_stopped_after_its_next_save(tmp_path: Path) -> None:
    base = host(tmp_path, LIGHTNING + LEAVES, pause=3)
    cluster, safe = stop(base, 1)
    assert "SIGTERM passed on" not in cluster.log()
    assert "would leave on SIGTERM unsaved" in cluster.log()
    assert cluster.progress()["step"] > safe


def test_a_script_that_left_without_saving_is_known_to_the_next_attempt(tmp_path: Path) -> None:
    base = host(tmp_path, LEAVES, pause=60)
    with running([base]) as first:
        first.await_step(1, 30)
        time.sleep(10.5)
        first.signal_all(signal.SIGTERM)
        assert first.wait(30) == [143], first.log()
    assert "SIGTERM passed on" in first.log()
    assert "left on SIGTERM without saving" in first.log()
    script = tmp_path / "source" / "train.py"
    script.write_text(LEAVES.replace("PAUSE", "2"))
    safe = int(first.progress()["step"])
    second, _ = stop(base, safe + 1)
    assert second.log().count("SIGTERM passed on") == 1
    assert second.progress()["step"] > safe + 1


@pytest.mark.parametrize(
    ("text", "leaves"),
    [
        ("import lightning as L\n", True),
        ("from pytorch_lightning import Trainer\n", True),
        ("if x:\n    from lightning.pytorch import Trainer\n", True),
        ("import lightning_utilities\n", False),
        ("# import of lightning\n", False),
        ("import lightning\nModelCheckpoint(save_on_exception=True)\n", False),
        ("import lightning\nTrainer(callbacks=[OnExceptionCheckpoint(folder)])\n", False),
        ("import lightning\nsignal.signal(signal.SIGTERM, save)\n", False),
        ("import lightning\nimport tidewheel\n", False),
    ],
)
def test_a_source_tells_what_sigterm_does(tmp_path: Path, text: str, leaves: bool) -> None:
    (tmp_path / "train.py").write_text(text)
    assert read_source(tmp_path).leaves_unsaved is leaves
