"""What an evaluation writes of each sample reaches the checkpoint folder, whole and once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tidewheel
from agent_runs import run
from run_job import run_job
from sagemaker_host import make_host
from tidewheel_agent.lifecycle.scores import forget_scores, take_scores

FILE = "tidewheel-scores/attempt-1.jsonl"


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_scores_of_a_script_lie_beside_its_checkpoints(tmp_path: Path) -> None:
    script = "import tidewheel\nfor k in range(3):\n    tidewheel.score(f'a/{k}', accuracy=k > 0)\n"
    base = make_host(tmp_path / "ml", script=script, checkpoints=True)
    assert run(base, TIDEWHEEL_MODEL="none")[0] == 0
    assert lines(base / "checkpoints" / FILE) == [
        {"key": "a/0", "accuracy": 0.0},
        {"key": "a/1", "accuracy": 1.0},
        {"key": "a/2", "accuracy": 1.0},
    ]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_score_that_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"loss of a is .*: a score is a finite number"):
        tidewheel.score("a", loss=value)


def test_a_score_without_a_metric_is_refused() -> None:
    with pytest.raises(ValueError, match="the sample's key and a metric"):
        tidewheel.score("a")


def test_a_start_forgets_the_part_that_an_earlier_one_scored(tmp_path: Path) -> None:
    job = run_job(tmp_path, 2)
    assert job.checkpoint_dir is not None
    former = job.checkpoint_dir / "tidewheel-scores" / "attempt-1.jsonl"
    part = job.checkpoint_dir / "tidewheel-scores" / "attempt-2.jsonl"
    part.parent.mkdir(parents=True)
    former.write_text("{}\n")
    part.write_text("{}\n")
    forget_scores(job)
    assert former.exists()
    assert not part.exists()


def test_scores_in_the_model_folder_count_where_none_were_called(tmp_path: Path) -> None:
    job = run_job(tmp_path, 1)
    assert job.checkpoint_dir is not None
    written = job.base / "model" / "scores.jsonl"
    written.parent.mkdir(exist_ok=True)
    written.write_text('{"key": "a", "accuracy": 1}\n')
    take_scores(job)
    assert (job.checkpoint_dir / FILE).read_text() == written.read_text()
    written.write_text("later")
    take_scores(job)
    assert (job.checkpoint_dir / FILE).read_text() != "later"


def test_a_link_to_scores_is_not_followed(tmp_path: Path) -> None:
    job = run_job(tmp_path, 1)
    assert job.checkpoint_dir is not None
    (job.base / "model").mkdir(exist_ok=True)
    (job.base / "model" / "scores.jsonl").symlink_to("/etc/passwd")
    take_scores(job)
    assert not (job.checkpoint_dir / FILE).exists()
