"""When the recipes of the torch loop save between their `checkpoint_steps`."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from recipe_modules import load_modules

(whole_state,) = load_modules("ddp", "common.whole_state")


def test_whole_state_is_saved_sooner_than_the_service_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEWHEEL_CHECKPOINT_DIR", str(tmp_path))
    monkeypatch.setenv("TIDEWHEEL_CHECKPOINT_SECONDS", "3600")
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    checkpoints = whole_state.WholeState(SimpleNamespace(is_rank0=True), keep=2)
    assert not checkpoints.is_due()
    now += 5.1
    assert checkpoints.is_due()
