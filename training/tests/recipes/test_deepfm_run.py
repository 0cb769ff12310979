"""What all strategies share in training DeepFM, without a framework."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recipe_modules import load_modules

training_run, config, make_data = load_modules("deepfm", "training_run", "config", "make_data")


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
