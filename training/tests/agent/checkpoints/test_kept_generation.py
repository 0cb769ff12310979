"""Scripts that overwrite their only checkpoint, killed in the middle of a save."""

from __future__ import annotations

import json
import pickle
import random
import time
from pathlib import Path

import pytest

from agent_runs import run
from cluster import Cluster, running, wait_until
from sagemaker_host import make_host
from tidewheel_agent.checkpoints.kept.generation import read_generations
from tidewheel_agent.checkpoints.kept.repair import repair, step_back
from tidewheel_agent.checkpoints.log_progress import LogProgress
from tidewheel_agent.checkpoints.progress import ProgressReporter

IN_PLACE = """
import os, pathlib, pickle, time
path = pathlib.Path(os.environ["TIDEWHEEL_CHECKPOINT_DIR"], "ckpt.pkl")
step = pickle.loads(path.read_bytes())["step"] if path.exists() else 0
print(f"began at {step}", flush=True)
while step < 12:
    time.sleep(0.1)
    step += 1
    data = pickle.dumps({"step": step, "weights": bytes(200_000)})
    with path.open("wb", buffering=0) as file:
        for at in range(0, len(data), 20_000):
            file.write(data[at : at + 20_000])
            time.sleep(0.01)
pathlib.Path(os.environ["SM_MODEL_DIR"], "model").write_text("done")
"""


# On its second start it is killed while it writes over the file from which it has just resumed.
OVERWRITES_AT_ONCE = """
import os, pathlib, pickle, signal
path = pathlib.Path(os.environ["TIDEWHEEL_CHECKPOINT_DIR"], "ckpt.pkl")
content = path.read_bytes()
print("began at", pickle.loads(content)["step"], flush=True)
if os.environ["TIDEWHEEL_ATTEMPT"] == "2":
    path.write_bytes(content[:2000])
    print("writing", flush=True)
    signal.pause()
pathlib.Path(os.environ["SM_MODEL_DIR"], "model").write_text("done")
"""


def host(folder: Path, script: str, attempt: int = 1) -> Path:
    base = make_host(folder / "ml", script=script)
    set_attempt(base, attempt)
    return base


def set_attempt(base: Path, attempt: int) -> None:
    parameters = {
        "sagemaker_program": "train.py",
        "tidewheel_run_id": "digits-000001",
        "sagemaker_job_name": f"digits-000001-a{attempt}-0a1b2c",
    }
    encoded = {name: json.dumps(value) for name, value in parameters.items()}
    (base / "input" / "config" / "hyperparameters.json").write_text(json.dumps(encoded))


def started_before(base: Path) -> None:
    """What is in the checkpoint folder is not what the run was given."""
    series = base / "checkpoints" / "tidewheel-series" / "attempt-1.jsonl"
    series.parent.mkdir()
    series.write_text('{"startedAt": 1}\n')


def began_at(log: str) -> list[int]:
    return [int(line.split()[-1]) for line in log.splitlines() if line.startswith("began at")]


def save(path: Path, step: int) -> None:
    path.write_bytes(pickle.dumps({"step": step, "weights": bytes(5000)}))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:2000])


def keeps(folder: Path) -> ProgressReporter:
    reporter = ProgressReporter(folder, leader=True, log_progress=LogProgress())
    reporter.script_started(time.time() - 1, dict)
    return reporter


def check_until_kept(reporter: ProgressReporter, folder: Path, step: int) -> None:
    def is_kept() -> bool:
        reporter.check()
        kept = read_generations(folder)
        return bool(kept) and kept[0].note["step"] == step

    wait_until(is_kept, 10, f"step {step} is kept")
    reporter.check()


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.heavy) for seed in range(1, 6))]
)
def test_a_run_killed_in_its_saves_goes_on_from_whole_checkpoints(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    base = host(tmp_path, IN_PLACE)
    ended = None
    for attempt in range(1, 4):
        set_attempt(base, attempt)
        with running([base]) as cluster:
            wait_until(lambda a=attempt: len(began_at(cluster.log())) >= a, 200, "a start")  # type: ignore[misc]
            try:
                ended = cluster.agents[0].wait(chance.uniform(0.8, 2.5))
            except Exception:
                cluster.lose_host(0)
                continue
            break
    if ended is None:
        set_attempt(base, 4)
        ended, _ = run(base)
    log = Cluster.log(cluster)
    assert ended == 0, log
    starts = began_at(log)
    assert starts[0] == 0
    assert starts == sorted(starts), log


def test_a_file_cut_off_in_place_is_replaced_before_the_script_starts(tmp_path: Path) -> None:
    base = host(tmp_path, IN_PLACE)
    folder = base / "checkpoints"
    with running([base]) as cluster:
        wait_until(lambda: bool(read_generations(folder)), 60, "a kept generation")
        cluster.lose_host(0)
    kept = read_generations(folder)[0].note["step"]
    cut(folder / "ckpt.pkl")
    code, log = run(base)
    assert code == 0, log
    assert "ckpt.pkl is damaged" in log
    assert began_at(log)[-1] == kept


def test_a_script_that_fails_as_it_resumes_is_tried_once_with_the_one_before(
    tmp_path: Path,
) -> None:
    """The file is whole for its reader, and the script cannot load it."""
    base = host(tmp_path, IN_PLACE)
    folder = base / "checkpoints"
    with running([base]) as cluster:
        wait_until(lambda: bool(read_generations(folder)), 60, "a kept generation")
        cluster.lose_host(0)
    (folder / "ckpt.pkl").write_bytes(pickle.dumps({"epoch": 3}))
    code, log = run(base)
    assert code == 0, log
    assert log.count("KeyError") == 1
    assert "trying once with its copy of the one before" in log


def test_a_script_that_fails_with_both_checkpoints_is_at_fault(tmp_path: Path) -> None:
    endless = IN_PLACE.replace("step < 12", "step < 6_000")
    base = host(tmp_path, endless.replace('print(f"began', 'assert step == 0; print(f"began'))
    folder = base / "checkpoints"
    with running([base]) as cluster:
        wait_until(lambda: len(read_generations(folder)) == 2, 60, "two kept generations")
        cluster.lose_host(0)
    code, log = run(base)
    assert code == 1
    assert log.count("Traceback") == 2
    assert "AssertionError" in (base / "output" / "failure").read_text()


def test_a_first_save_that_was_cut_off_is_set_aside_when_the_script_cannot_load_it(
    tmp_path: Path,
) -> None:
    base = host(tmp_path, IN_PLACE, attempt=2)
    started_before(base)
    save(base / "checkpoints" / "ckpt.pkl", 3)
    cut(base / "checkpoints" / "ckpt.pkl")
    code, log = run(base)
    assert code == 0, log
    assert began_at(log) == [0]


def test_a_resumed_file_is_kept_before_the_script_starts(tmp_path: Path) -> None:
    base = host(tmp_path, OVERWRITES_AT_ONCE, attempt=2)
    started_before(base)
    save(base / "checkpoints" / "ckpt.pkl", 3)
    with running([base]) as cluster:
        wait_until(lambda: "writing" in cluster.log(), 60, "a save that is under way")
        cluster.lose_host(0)
    set_attempt(base, 3)
    code, log = run(base)
    assert code == 0, log
    assert began_at(log) == [3, 3]


def test_a_first_attempt_that_fails_is_not_tried_again(tmp_path: Path) -> None:
    base = host(tmp_path, "raise SystemExit(3)", attempt=1)
    save(base / "checkpoints" / "ckpt.pkl", 3)
    cut(base / "checkpoints" / "ckpt.pkl")
    code, log = run(base)
    assert code == 3
    assert "trying once" not in log


def test_two_generations_are_kept_and_noted_with_sizes_and_hashes(tmp_path: Path) -> None:
    path = tmp_path / "ckpt.pkl"
    reporter = keeps(tmp_path)
    for step in (1, 2, 3):
        save(path, step)
        check_until_kept(reporter, tmp_path, step)
        reporter._keeper._next_copy = 0.0  # type: ignore[union-attr]
    assert [g.note["step"] for g in read_generations(tmp_path)] == [3, 2]
    note = json.loads((tmp_path / "tidewheel-progress.json").read_text())
    assert [kept["step"] for kept in note["kept"]] == [3, 2]
    for kept in note["kept"]:
        for name, file in kept["files"].items():
            assert (tmp_path / name).stat().st_size == file["bytes"]


def test_a_damaged_copy_is_not_put_back(tmp_path: Path) -> None:
    path = tmp_path / "ckpt.pkl"
    reporter = keeps(tmp_path)
    save(path, 1)
    check_until_kept(reporter, tmp_path, 1)
    for part in (tmp_path / "tidewheel-kept").glob("*-a"):
        part.write_bytes(bytes(part.stat().st_size))
    cut(path)
    assert repair(tmp_path, None, leads=True) == []
    assert path.stat().st_size == 2000


def test_files_of_one_save_without_a_step_go_back_together(tmp_path: Path) -> None:
    model, optimizer = tmp_path / "model.pkl", tmp_path / "optimizer.pkl"
    reporter = keeps(tmp_path)
    for path in (model, optimizer):
        path.write_bytes(pickle.dumps({"weights": bytes(5000)}))
    wait_until(
        lambda: reporter.check() is not None and bool(read_generations(tmp_path)), 10, "kept"
    )
    before = model.read_bytes()
    model.write_bytes(pickle.dumps({"weights": bytes(5001)}))
    cut(optimizer)
    done = repair(tmp_path, None, leads=True)
    assert {each.name for each in done} == {"optimizer.pkl"}
    assert model.read_bytes() == before
    assert len(optimizer.read_bytes()) == len(before)


def test_a_cut_off_checkpoint_with_a_step_makes_way_for_the_last_whole_one(
    tmp_path: Path,
) -> None:
    reporter = keeps(tmp_path)
    for step in (10, 20):
        save(tmp_path / f"checkpoint-{step}.pkl", step)
        reporter.check()
    save(tmp_path / "checkpoint-30.pkl", 30)
    cut(tmp_path / "checkpoint-30.pkl")
    (done,) = repair(tmp_path, None, leads=True)
    assert (done.name, done.step) == ("checkpoint-30.pkl", 20)
    assert not (tmp_path / "checkpoint-30.pkl").exists()
    assert (tmp_path / "tidewheel-set-aside" / "checkpoint-30.pkl").stat().st_size == 2000


def test_stepping_back_from_a_numbered_checkpoint_corrects_the_note(tmp_path: Path) -> None:
    reporter = keeps(tmp_path)
    for step in (10, 20):
        save(tmp_path / f"checkpoint-{step}.pkl", step)
        reporter.check()
    done = step_back(tmp_path, None)
    assert done is not None and done.step == 10
    assert json.loads((tmp_path / "tidewheel-progress.json").read_text())["step"] == 10
    assert step_back(tmp_path, None) is None


def test_whole_checkpoints_stay_as_they_are(tmp_path: Path) -> None:
    reporter = keeps(tmp_path)
    save(tmp_path / "ckpt.pkl", 1)
    check_until_kept(reporter, tmp_path, 1)
    save(tmp_path / "ckpt.pkl", 2)
    assert repair(tmp_path, None, leads=True) == []
    assert pickle.loads((tmp_path / "ckpt.pkl").read_bytes())["step"] == 2


def test_names_that_lead_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    reporter = keeps(tmp_path)
    save(tmp_path / "ckpt.pkl", 1)
    check_until_kept(reporter, tmp_path, 1)
    manifest = tmp_path / "tidewheel-kept" / "generation-a.json"
    document = json.loads(manifest.read_text())
    document["files"]["../outside"] = document["files"].pop("ckpt.pkl")
    manifest.write_text(json.dumps(document))
    assert read_generations(tmp_path) == []
