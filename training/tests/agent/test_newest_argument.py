"""Scripts that number their checkpoints and resume from the one that an argument names."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

from agent_runs import run
from cluster import running, wait_until
from sagemaker_host import make_host

NUMBERED = """
import os, pathlib, pickle, sys, time
folder = pathlib.Path(os.environ["TIDEWHEEL_CHECKPOINT_DIR"])
print("given", *sys.argv[1:], flush=True)
step = 0
for path in sys.argv[1:]:
    step = pickle.loads(pathlib.Path(path.removeprefix("--resume=")).read_bytes())["step"]
print(f"began at {step}", flush=True)
while step < 12:
    time.sleep(0.2)
    step += 1
    data = pickle.dumps({"step": step, "weights": bytes(200_000)})
    with (folder / f"step_{step}.pkl").open("wb", buffering=0) as file:
        for at in range(0, len(data), 20_000):
            file.write(data[at : at + 20_000])
            time.sleep(0.01)
pathlib.Path(os.environ["SM_MODEL_DIR"], "model").write_text("done")
"""


def host(folder: Path, argument: str) -> Path:
    parameters = {
        "tidewheel_run_id": "digits-000001",
        "sagemaker_job_name": "digits-000001-a1-0a1b2c",
        "tidewheel_script": json.dumps({"arguments": [argument]}),
    }
    return make_host(folder / "ml", script=NUMBERED, hyperparameters=parameters)


def has_started(base: Path) -> Path:
    """As an attempt before left the folder."""
    folder = base / "checkpoints"
    (folder / "tidewheel-series").mkdir(parents=True)
    (folder / "tidewheel-series" / "attempt-1.jsonl").write_text('{"startedAt": 1}\n')
    return folder


def is_whole(path: Path) -> bool:
    try:
        return len(pickle.loads(path.read_bytes())["weights"]) == 200_000
    except (FileNotFoundError, EOFError, pickle.UnpicklingError):
        return False


def said(log: str, word: str) -> list[str]:
    return [line.removeprefix(word).strip() for line in log.splitlines() if line.startswith(word)]


def test_a_killed_script_gets_its_newest_whole_checkpoint(tmp_path: Path) -> None:
    base = host(tmp_path, "--resume=${checkpoints}/step_*.pkl?")
    folder = base / "checkpoints"
    with running([base]) as cluster:
        wait_until(lambda: (folder / "step_4.pkl").exists(), 30, "the fourth save")
        cluster.lose_host(0)
        first = cluster.log()
    assert said(first, "given") == [""]
    assert "${checkpoints}/step_*.pkl is not there" in first
    whole = max(step for step in range(1, 13) if is_whole(folder / f"step_{step}.pkl"))
    assert whole >= 3
    cut = folder / "step_99.pkl"
    cut.write_bytes((folder / "step_3.pkl").read_bytes()[:9000])
    code, log = run(base)
    assert code == 0, log
    assert said(log, "began at")[-1] == str(whole)
    assert said(log, "given")[-1] == f"--resume={folder}/step_{whole}.pkl"


def test_a_script_that_cannot_load_it_is_given_the_one_before(tmp_path: Path) -> None:
    base = host(tmp_path, "${checkpoints}/step_*.pkl?")
    folder = has_started(base)
    for step in (9, 10):
        state = {"step": step, "weights": bytes(5000)}
        (folder / f"step_{step}.pkl").write_bytes(pickle.dumps(state))
    (folder / "step_11.pkl").write_bytes(pickle.dumps({"epoch": 3}))
    code, log = run(base)
    assert code == 0, log
    assert log.count("KeyError") == 1
    assert said(log, "given") == [f"{folder}/step_11.pkl", f"{folder}/step_10.pkl"]


def test_a_script_whose_only_checkpoint_is_damaged_is_given_none(tmp_path: Path) -> None:
    """The argument is left out, too, when it names one file."""
    base = host(tmp_path, "${checkpoints}/step_1.pkl?")
    folder = has_started(base)
    (folder / "step_1.pkl").write_bytes(pickle.dumps({"step": 1, "w": bytes(5000)})[:900])
    code, log = run(base)
    assert code == 0, log
    assert said(log, "given") == [f"{folder}/step_1.pkl", ""]
