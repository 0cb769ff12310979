"""Checkpoints that an earlier release has written are read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from tidewheel_automatic import fake_tensors, storage


def test_classes_are_found_under_their_names_of_0_1_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = [("batch", fake_tensors.describe(torch.ones(2, 3)))]
    with monkeypatch.context() as release:
        release.setitem(sys.modules, "tidewheel_automatic.phantoms", fake_tensors)
        release.setattr(type(journal[0][1]), "__module__", "tidewheel_automatic.phantoms")
        storage.save(tmp_path, 4, 0, {"journal": journal})
    assert storage.load(tmp_path / "step-00000004", 0) == {"journal": journal}
