"""What every way of training DeepFM does the same, without a framework."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recipe_modules import load_modules

campaign, config, make_data = load_modules("deepfm", "campaign", "config", "make_data")


@pytest.fixture
def evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A shard to evaluate on beside a channel of Pipes."""
    make_data.make(tmp_path, shards=1, records=64, vocabulary=50)
    monkeypatch.setenv("SM_INPUT_DATA_CONFIG", json.dumps({"train": {"TrainingInputMode": "Pipe"}}))
    monkeypatch.setenv("SM_CHANNEL_EVALUATION", str(tmp_path))
    return tmp_path


def test_a_program_that_reads_files_refuses_pipes_and_never_learns_what_it_is_judged_by(
    evaluation: Path,
) -> None:
    with pytest.raises(ValueError, match="declare inputMode File or FastFile"):
        campaign.Campaign(config.Config(steps=10), is_first=True)


def test_a_program_that_reads_pipes_is_told_how_long_to_train(evaluation: Path) -> None:
    with pytest.raises(ValueError, match="say how long"):
        campaign.Campaign(config.Config(), is_first=True, reads_pipes=True)
    told = campaign.Campaign(config.Config(steps=10), is_first=True, reads_pipes=True)
    assert told.total == 10
