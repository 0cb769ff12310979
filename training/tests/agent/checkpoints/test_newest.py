"""Which checkpoint a pattern in the script's arguments finds, before the script starts."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from tidewheel_agent.checkpoints.frameworks import newest_checkpoint
from tidewheel_agent.configuration.settings import CheckpointRules
from tidewheel_agent.declared_pattern import DeclaredPattern


def save(path: Path, step: int = 1) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps({"step": step, "weights": bytes(5000)}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of a run whose script has started before."""
    series = tmp_path / "tidewheel-series" / "attempt-1.jsonl"
    series.parent.mkdir()
    series.write_text("{}\n")
    return tmp_path


def newest(folder: Path, pattern: str, rules: CheckpointRules | None = None) -> str | None:
    return newest_checkpoint(folder, pattern, rules)


def test_the_number_decides_and_not_the_order_of_letters(folder: Path) -> None:
    for step in (10, 9, 2):
        save(folder / f"step_{step}.pkl", step)
    assert newest(folder, "step_*.pkl") == "step_10.pkl"


def test_one_that_a_kill_cut_off_is_none(folder: Path) -> None:
    save(folder / "epoch_1.pkl")
    save(folder / "epoch_2.pkl")
    cut = folder / "epoch_3.pkl"
    save(cut)
    cut.write_bytes(cut.read_bytes()[:2000])
    assert newest(folder, "epoch_*.pkl") == "epoch_2.pkl"


def test_a_star_stays_within_one_name_and_all_else_is_itself(folder: Path) -> None:
    save(folder / "runs" / "b" / "e[1].pkl")
    save(folder / "runs" / "c" / "e1.pkl")
    assert newest(folder, "*.pkl") is None
    assert newest(folder, "runs/*.pkl") is None
    assert newest(folder, "*/*/e[1].pkl") == "runs/b/e[1].pkl"
    assert newest(folder, "runs/*/e?.pkl") is None
    assert newest(folder, "../*/*") is None


def test_many_stars_take_no_time(folder: Path) -> None:
    save(folder / ("a" * 200 + ".pkl"))
    assert newest(folder, "*a" * 100 + "b.pkl") is None


def test_other_names_do_not_count(folder: Path) -> None:
    save(folder / "epoch_1.pkl")
    save(folder / "final_9.pkl", 9)
    assert newest(folder, "epoch_*.pkl") == "epoch_1.pkl"
    assert newest(folder, "best_*.pkl") is None


def test_a_folder_is_found_as_one_checkpoint(folder: Path) -> None:
    for step in (120, 80):
        marker = {"step": step, "files": {"state.bin": {"bytes": 3, "sha256": ""}}}
        place = folder / f"step-{step:08}"
        place.mkdir()
        (place / "state.bin").write_bytes(b"abc")
        (place / "COMPLETE.json").write_text(json.dumps(marker))
    (folder / "step-00000160").mkdir()
    assert newest(folder, "step-*") == "step-00000120"


def test_a_declared_step_decides(folder: Path) -> None:
    save(folder / "e1_b9.pkl")
    save(folder / "e2_b1.pkl")
    rules = CheckpointRules(folder=folder, pattern="*.pkl", step=DeclaredPattern("step", r"e(\d+)"))
    assert newest(folder, "e*.pkl", rules) == "e2_b1.pkl"


def test_an_unknown_format_counts_once_the_agent_has_noted_it(folder: Path) -> None:
    for epoch in (1, 2):
        (folder / f"epoch_{epoch}.mine").write_bytes(b"weights" * 100)
    rules = CheckpointRules(folder=folder, pattern="epoch_*.mine")
    assert newest(folder, "epoch_*.mine", rules) is None
    at = "2026-01-01T00:00:00Z"
    note = {"step": 1, "totalSteps": 0, "checkpoint": "epoch_1.mine", "updatedAt": at}
    (folder / "tidewheel-progress.json").write_text(json.dumps(note))
    assert newest(folder, "epoch_*.mine", rules) == "epoch_1.mine"


def test_files_that_came_with_the_source_are_none(tmp_path: Path) -> None:
    save(tmp_path / "epoch_1.pkl")
    assert newest(tmp_path, "epoch_*.pkl") is None


def test_nothing_is_found_in_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert newest(tmp_path / "none", "*.pt") is None
