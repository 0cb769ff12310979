"""A script may write anything into its checkpoint folder, and no attempt ends by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidewheel_agent.checkpoints.checkpoint import find_last_checkpoint
from tidewheel_agent.checkpoints.kept.generation import KEPT_FOLDER, read_generations
from tidewheel_agent.checkpoints.note import GIVEN_FILE, files_given, read_note
from tidewheel_agent.resumes.resume_proof import read_earlier
from tidewheel_agent.trackers.resume_point import read_resume_point

NUMBERS = ["Infinity", "-1e999", "NaN", "1" + "0" * 400]
DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize("value", [*NUMBERS, DEEP], ids=lambda value: value[:8])
def test_a_file_of_the_agent_with_any_value_is_read_or_counts_as_not_there(
    tmp_path: Path, value: str
) -> None:
    files = {
        "tidewheel-progress.json": f'"step": {value}, "trainingSeconds": {value},'
        f' "saveSeconds": {value}, "totalSteps": 0, "checkpoint": "a",'
        ' "updatedAt": "2026-01-01T00:00:00Z"',
        GIVEN_FILE: f'"files": {{"a": {value}}}',
        f"{KEPT_FOLDER}/generation-a.json": f'"sequence": {value}, "files": {{}}, "note": {{}}',
        "step-000005/COMPLETE.json": f'"files": {{}}, "trainingSeconds": {value},'
        f' "takenAt": {value}',
        "tidewheel-series/attempt-1.jsonl": f'"source": "log", "unit": "step",'
        f' "position": {value}, "at": {value}',
    }
    for name, members in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{{{members}}}\n")
    assert read_note(tmp_path).step is None
    assert files_given(tmp_path, noted_checkpoint=None, writes=False) == {}
    read_generations(tmp_path)
    find_last_checkpoint(tmp_path)
    read_resume_point(tmp_path)
    read_earlier(tmp_path, None)
