"""What docs/training.md says of frameworks that no other test would notice, by the frameworks.

`pytest -m heavy tests/agent/unmodified/test_documented_frameworks.py` makes their environments.
"""

from __future__ import annotations

import json
import re
import signal
import time
from pathlib import Path

import pytest

from cluster import running
from heavy import python_over_torch
from hosts import TRAINING
from sagemaker_host import make_host
from tidewheel_agent.series.event_file import EVENT_FILES
from tidewheel_agent.series.wandb_file import WandbFile

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]

ROOT = TRAINING.parent
SCRIPTS = Path(__file__).parent
LIMIT_SECONDS = 300
# Lightning loads MPI, which belongs to the packages of .venv.
LIBRARIES = {"LD_LIBRARY_PATH": str(ROOT / ".venv" / "lib")}
# What the example of the page leaves to the reader, and a count of the steps of this start.
MODEL_AND_DATA = (
    (SCRIPTS / "trainer_script.py").read_text().split("SAVE_EVERY")[0]
    + """
import atexit

class Counted(Model):
    steps = 0

    def forward(self, x, labels):
        Counted.steps += 1
        return super().forward(x, labels)

atexit.register(lambda: print("steps of this start:", Counted.steps, flush=True))
model, data = Counted(), Data()
"""
)


def trainer_example() -> str:
    page = (ROOT / "docs" / "training.md").read_text()
    blocks: list[str] = re.findall(r"```python\n(.*?)```", page, re.S)
    (example,) = [block for block in blocks if "Trainer(" in block]
    return example


def host(folder: Path, script: str, attempt: int = 1) -> Path:
    parameters = {
        "tidewheel_strategy": "single",
        "tidewheel_run_id": "documented-000001",
        "sagemaker_job_name": f"documented-000001-a{attempt}-0a1b2c",
    }
    return make_host(folder / "host", script=script, hyperparameters=parameters)


def test_the_trainer_of_the_page_saves_on_the_warning_and_resumes(tmp_path: Path) -> None:
    script = MODEL_AND_DATA + trainer_example()
    base, python = host(tmp_path, script), python_over_torch("frameworks")
    environment = {"AGENT_PYTHON": str(python), **LIBRARIES}
    with running([base], TIDEWHEEL_SPOT="1", **environment) as first:
        first.await_step(50, LIMIT_SECONDS)
        time.sleep(1)
        first.signal_all(signal.SIGTERM)
        assert first.wait(LIMIT_SECONDS) == [143], first.log()
    saved = first.progress()["step"]
    assert 50 < saved < 100, "it does not wait for its next regular save"
    with running([base], TIDEWHEEL_SPOT="1", **environment) as second:
        assert second.wait(LIMIT_SECONDS) == [0], second.log()
        done = re.findall(r"steps of this start: (\d+)", second.log())
    assert int(done[-1]) == 200 - saved
    assert any((base / "model").iterdir())


def test_the_trainer_writes_event_files_where_the_agent_says(tmp_path: Path) -> None:
    trackers = python_over_torch("trackers")
    packages = next((trackers.parent.parent / "lib").glob("python3*")) / "site-packages"
    text = (SCRIPTS / "trainer_script.py").read_text()
    assert "report_to=[]" in text
    base = host(tmp_path, text.replace("report_to=[]", 'report_to=["tensorboard"]'))
    environment = {
        "AGENT_PYTHON": str(python_over_torch("frameworks")),
        # The environment of the frameworks has no TensorBoard.
        "PYTHONPATH": str(packages),
        "SAVE_TO": str(base / "checkpoints"),
        **LIBRARIES,
    }
    with running([base], **environment) as cluster:
        assert cluster.wait(LIMIT_SECONDS) == [0], cluster.log()
    board = base / "checkpoints" / "tidewheel-trackers" / "tensorboard"
    assert list(board.glob(f"**/{EVENT_FILES}*"))
    series = base / "checkpoints" / "tidewheel-series" / "attempt-1.jsonl"
    sources = {json.loads(line).get("source") for line in series.read_text().splitlines()}
    assert {"tensorboard", "trainer_state"} <= sources


COUNTING = """
import json, os, pathlib, time, wandb
folder = pathlib.Path(os.environ["TIDEWHEEL_CHECKPOINT_DIR"])
done = sorted(folder.glob("step-*"))
with wandb.init(project="rows", mode="offline") as run:
    for value in range(3 * len(done), 3 * len(done) + 3):
        run.log({"value": value})
    if not done:
        (folder / "step-00000003").mkdir()
        marker = folder / "step-00000003" / "marker.tmp"
        marker.write_text(json.dumps({"step": 3, "totalSteps": 6, "files": {}}))
        marker.rename(marker.with_name("COMPLETE.json"))
        print("logged", flush=True)
        time.sleep(600)
    run.log({"value": 6})
pathlib.Path(os.environ["SM_MODEL_DIR"], "model").touch()
"""


def test_a_resumed_offline_run_counts_on_under_the_agent(tmp_path: Path) -> None:
    first, second = host(tmp_path / "1", COUNTING), host(tmp_path / "2", COUNTING, 2)
    python = {"AGENT_PYTHON": str(python_over_torch("trackers"))}
    with running([first], **python, **LIBRARIES) as cluster:
        deadline = time.monotonic() + LIMIT_SECONDS
        while "\nlogged" not in cluster.log():
            assert time.monotonic() < deadline and cluster.agents[0].poll() is None, cluster.log()
            time.sleep(0.05)
        cluster.lose_host(0)
    (second / "checkpoints").rmdir()
    (first / "checkpoints").rename(second / "checkpoints")
    with running([second], **python, **LIBRARIES) as cluster:
        assert cluster.wait(LIMIT_SECONDS) == [0], cluster.log()
    found = (second / "checkpoints" / "tidewheel-trackers").glob("wandb/offline-run-*/run-*.wandb")
    points = [row for path in sorted(found) for row in WandbFile(path).read()]
    assert [(row.position, row.values["value"]) for row in points] == [(n, n) for n in range(7)]
