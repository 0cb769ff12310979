"""What docs/training.md says of torch and the recipes rely on, by torch itself."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import async_save
from torch.utils.data import DataLoader, TensorDataset

DATA = TensorDataset(torch.zeros(2))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_async_save_returns_once_the_state_is_copied(tmp_path: Path) -> None:
    state = {"weights": torch.zeros(1_000_000)}
    saving = async_save(state, checkpoint_id=tmp_path / "saved")
    state["weights"].fill_(1)
    saving.result()  # type: ignore[union-attr]
    found = {"weights": torch.full((1_000_000,), 2.0)}
    load(found, checkpoint_id=tmp_path / "saved")
    assert not found["weights"].any()


def test_a_loader_advances_the_frameworks_generator_unless_it_has_its_own() -> None:
    before = torch.get_rng_state()
    iter(DataLoader(DATA, generator=torch.Generator()))
    assert torch.equal(torch.get_rng_state(), before)
    iter(DataLoader(DATA))
    assert not torch.equal(torch.get_rng_state(), before)
