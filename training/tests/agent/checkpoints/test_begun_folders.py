"""Folders of saves that a kill ended before anything in them could be recognised."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from agent_runs import run
from checkpoint_files import cut
from sagemaker_host import make_host
from tidewheel_agent.checkpoints.kept.repair import repair, step_back


def started_before(checkpoints: Path) -> None:
    """What is in the folder is not what the run was given."""
    series = checkpoints / "tidewheel-series" / "attempt-1.jsonl"
    series.parent.mkdir()
    series.write_text('{"startedAt": 1}\n')


def trainer_files(folder: Path, *names: str) -> None:
    """As Hugging Face's Trainer writes them, in this order."""
    folder.mkdir()
    for name in names:
        (folder / name).write_text("{}")


def test_an_empty_folder_of_a_save_is_removed(tmp_path: Path) -> None:
    (tmp_path / "checkpoint-20" / "global_step20").mkdir(parents=True)
    (tmp_path / "runs").mkdir()
    assert repair(tmp_path, None, leads=True) == []
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_a_begun_folder_makes_way_for_the_last_whole_one(tmp_path: Path) -> None:
    started_before(tmp_path)
    state = json.dumps({"global_step": 20, "max_steps": 60})
    names = ("config.json", "model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth")
    trainer_files(tmp_path / "checkpoint-20", *names)
    (tmp_path / "checkpoint-20" / "trainer_state.json").write_text(state)
    header = b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
    weights = len(header).to_bytes(8, "little") + header + bytes(8)
    (tmp_path / "checkpoint-20" / "model.safetensors").write_bytes(weights)
    for name in ("optimizer.pt", "scheduler.pt", "rng_state.pth"):
        torch.save({}, tmp_path / "checkpoint-20" / name)
    # safetensors gives the weights their name once they are whole.
    trainer_files(tmp_path / "checkpoint-40", "config.json", ".tmpRPf7h4")
    (done,) = repair(tmp_path, None, leads=True)
    assert (done.name, done.step) == ("checkpoint-40", 20)
    assert done.problem == "checkpoint-40 lacks model.safetensors, which checkpoint-20 has"
    assert not (tmp_path / "checkpoint-40").exists()
    assert (tmp_path / "tidewheel-set-aside" / "checkpoint-40" / "config.json").exists()


def test_a_cut_off_file_goes_whatever_its_name_counts_from(tmp_path: Path) -> None:
    """XGBoost's `model_3.ubj` has four rounds, so the one before has the three of its name."""
    started_before(tmp_path)
    for number in (2, 3):
        torch.save({"step": number + 1}, tmp_path / f"model_{number}.pt")
    cut(tmp_path / "model_3.pt")
    (done,) = repair(tmp_path, None, leads=True)
    assert (done.name, done.step) == ("model_3.pt", 3)
    assert not (tmp_path / "model_3.pt").exists()


def test_a_begun_folder_is_set_aside_when_the_script_cannot_load_it(tmp_path: Path) -> None:
    started_before(tmp_path)
    trainer_files(tmp_path / "checkpoint-20", "config.json")
    # It may be all that this script saves.
    assert repair(tmp_path, None, leads=True) == []
    done = step_back(tmp_path, None)
    assert done is not None and (done.name, done.instead) == ("checkpoint-20", "the beginning")
    assert not (tmp_path / "checkpoint-20").exists()


def test_a_script_that_finds_an_empty_folder_of_a_save_begins_again(tmp_path: Path) -> None:
    script = """
import os, pathlib
folder = pathlib.Path(os.environ["TIDEWHEEL_CHECKPOINT_DIR"])
print("began at", len(list(folder.glob("checkpoint-*"))), flush=True)
for found in folder.glob("checkpoint-*"):
    (found / "trainer_state.json").read_text()
pathlib.Path(os.environ["SM_MODEL_DIR"], "model").write_text("done")
"""
    given = {"tidewheel_run_id": "digits-000001"}
    base = make_host(tmp_path / "ml", script=script, hyperparameters=given)
    started_before(base / "checkpoints")
    (base / "checkpoints" / "checkpoint-20").mkdir()
    trainer_files(base / "checkpoints" / "checkpoint-40", "config.json")
    code, log = run(base)
    assert code == 0, log
    assert [line for line in log.splitlines() if line.startswith("began")] == [
        "began at 1",
        "began at 0",
    ]
