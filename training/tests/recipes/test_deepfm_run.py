"""What all strategies share in training DeepFM, without a framework."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recipe_modules import load_modules

training_run, config, make_data, place, loss_scale = load_modules(
    "deepfm", "training_run", "config", "make_data", "place", "loss_scale"
)


@pytest.fixture
def evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A channel of Pipes, and a shard for evaluation."""
    make_data.make(tmp_path, make_data.Shape(vocabulary=50), shards=1, records=64)
    monkeypatch.setenv("SM_INPUT_DATA_CONFIG", json.dumps({"train": {"TrainingInputMode": "Pipe"}}))
    monkeypatch.setenv("SM_CHANNEL_EVALUATION", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("evaluation")
def test_a_program_for_files_refuses_pipes() -> None:
    with pytest.raises(ValueError, match="declare inputMode File or FastFile"):
        training_run.TrainingRun(config.Config(steps=10), is_main=True)


@pytest.mark.usefixtures("evaluation")
def test_a_program_for_pipes_needs_a_number_of_steps() -> None:
    with pytest.raises(ValueError, match="give the number of steps"):
        training_run.TrainingRun(config.Config(), is_main=True, reads_pipes=True)
    run = training_run.TrainingRun(config.Config(steps=10), is_main=True, reads_pipes=True)
    assert run.total == 10


def test_a_limit_that_nothing_keeps_is_refused() -> None:
    limited = config.Config(timeout_minutes=30)
    with pytest.raises(ValueError, match="timeout_minutes=30: only Horovod's ranks have such"):
        training_run.TrainingRun(limited, is_main=True)


def test_threads_follow_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert config.Config().threads == 3
    assert config.Config(intra_threads=2).threads == 2


CLUSTER = {"chief": ["a:1"], "worker": ["a:2", "b:2"], "ps": ["a:3", "b:3", "c:3"]}


@pytest.mark.parametrize(
    ("kind", "index", "expected"),
    [
        ("chief", 0, (0, 1)),
        ("worker", 0, (0, 2)),
        ("ps", 0, (1, 2)),
        ("ps", 1, (1, 2)),
        ("ps", 2, (0, 1)),
    ],
)
def test_worker_and_server_share_a_host(kind: str, index: int, expected: tuple[int, int]) -> None:
    task = {"cluster": CLUSTER, "task": {"type": kind, "index": index}}
    assert place.place_on_host(task, {}) == expected


def test_ranks_of_mpi_share_a_host() -> None:
    environment = {"TIDEWHEEL_LOCAL_RANK": "1", "TIDEWHEEL_LOCAL_RANKS": "4"}
    assert place.place_on_host({}, environment) == (1, 4)
    assert place.place_on_host({}, {}) == (0, 1)


def test_the_scale_follows_overflows() -> None:
    scale = loss_scale.LossScale("float16", {})
    first = scale.factor
    scale.update(overflowed=True)
    assert scale.factor == first / 2
    for _ in range(1_999):
        scale.update(overflowed=False)
    assert scale.factor == first / 2
    resumed = loss_scale.LossScale("float16", scale.arrays())
    resumed.update(overflowed=False)
    assert resumed.factor == first


def test_another_arithmetic_needs_no_scale() -> None:
    saved = loss_scale.LossScale("float16", {}).arrays()
    other = loss_scale.LossScale("bfloat16", saved)
    other.update(overflowed=True)
    assert (other.factor, other.arrays()) == (1.0, {})
    assert loss_scale.without_scale({**saved, "bias": 1}) == {"bias": 1}


@pytest.mark.parametrize(
    ("hidden", "expected"), [(400, "float16"), (32, "float32")], ids=["article", "small"]
)
def test_small_layers_stay_in_float32(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: int, expected: str
) -> None:
    make_data.make(tmp_path, make_data.Shape(39, 50, 13), shards=2, records=2048)
    monkeypatch.setenv("SM_CHANNEL_TRAIN", str(tmp_path))
    settings = config.Config(batch_size=2048, hidden=hidden)
    run = training_run.TrainingRun(settings, is_main=True)
    assert run.kind((7, 0), 2) == expected
    assert run.kind(None, 2) == "float32"
