"""Libraries that put PyTorch's files into one archive, or one training into several files."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from pathlib import Path

import pytest
import torch

from tidewheel_agent.checkpoints.frameworks import FrameworkCheckpoints


def torch_bytes() -> bytes:
    buffer = io.BytesIO()
    torch.save({"w": torch.ones(300)}, buffer)
    return buffer.getvalue()


def stable_baselines_zip(path: Path, data: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", data)
        archive.writestr("policy.pth", torch_bytes())
        archive.writestr("_stable_baselines3_version", "2.9.2")
    return path


def skorch_files(folder: Path, epochs: int, prefix: str = "") -> None:
    for part in ("params", "optimizer"):
        (folder / f"{prefix}{part}.pt").write_bytes(torch_bytes())
    history = [{"batches": [{"train_loss": 0.5}], "epoch": n + 1} for n in range(epochs)]
    (folder / f"{prefix}history.json").write_text(json.dumps(history, indent=2) + "\n")


def test_a_zip_of_stable_baselines_tells_its_steps(tmp_path: Path) -> None:
    path = stable_baselines_zip(tmp_path / "best_model.zip", '{"num_timesteps": 640}')
    found = FrameworkCheckpoints(tmp_path).find_last()
    assert found is not None and (found.name, found.step) == ("best_model.zip", 640)
    path.write_bytes(path.read_bytes()[:900])
    assert FrameworkCheckpoints(tmp_path).find_last() is None


def test_a_model_counts_with_the_replay_buffer_of_its_step(tmp_path: Path) -> None:
    for steps in (32, 64):
        stable_baselines_zip(tmp_path / f"rl_model_{steps}_steps.zip", "{}")
        (tmp_path / f"rl_model_replay_buffer_{steps}_steps.pkl").write_bytes(pickle.dumps([steps]))
    found = FrameworkCheckpoints(tmp_path).find_last()
    assert found is not None and (found.name, len(found.files)) == ("rl_model_64_steps.zip", 2)
    (tmp_path / "rl_model_replay_buffer_64_steps.pkl").unlink()
    found = FrameworkCheckpoints(tmp_path).find_last()
    assert found is not None and found.step == 32


@pytest.mark.parametrize("data", ["no JSON", '{"num_timesteps": -1}', "[" * 100_000])
def test_a_zip_with_other_data_still_counts(tmp_path: Path, data: str) -> None:
    stable_baselines_zip(tmp_path / "model_32_steps.zip", data)
    found = FrameworkCheckpoints(tmp_path).find_last()
    assert found is not None and found.step == 32


def test_a_damaged_compressed_zip_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "network.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("network.pt", torch_bytes())
    whole = path.read_bytes()
    path.write_bytes(whole[:60] + bytes(40) + whole[100:])
    frameworks = FrameworkCheckpoints(tmp_path)
    assert frameworks.find_last() is None
    assert (
        frameworks.damaged[0].problem == "network.pt inside network.zip does not match its checksum"
    )


def test_the_files_of_skorch_are_one_checkpoint(tmp_path: Path) -> None:
    skorch_files(tmp_path, 3)
    found = FrameworkCheckpoints(tmp_path).find_last()
    assert found is not None and (found.name, found.step) == ("params.pt", 3)
    assert sorted(found.files) == ["history.json", "optimizer.pt", "params.pt"]


def test_a_history_of_skorch_that_is_cut_off_is_noticed(tmp_path: Path) -> None:
    skorch_files(tmp_path, 3, prefix="train_end_")
    history = tmp_path / "train_end_history.json"
    history.write_text(history.read_text()[:-9])
    frameworks = FrameworkCheckpoints(tmp_path)
    assert frameworks.find_last() is None
    assert frameworks.damaged[0].problem == "train_end_history.json is cut off"


def test_a_pipeline_of_spacy_needs_its_vocabulary_and_whole_msgpack(tmp_path: Path) -> None:
    folder = tmp_path / "model-last"
    (folder / "textcat").mkdir(parents=True)
    (folder / "vocab").mkdir()
    # {"nodes": [1, -1.0, "a"], "params": 300 bytes}
    nodes = b"\xa5nodes\x93\x01\xcb\xbf\xf0" + bytes(6) + b"\xa1a"
    packed = b"\x82" + nodes + b"\xa6params\xc5\x01\x2c" + bytes(300)
    (folder / "textcat" / "model").write_bytes(packed)
    (folder / "vocab" / "lookups.bin").write_bytes(b"\x80")
    for name in ("meta.json", "config.cfg", "vocab/strings.json"):
        (folder / name).write_text("{}")
    found = FrameworkCheckpoints(tmp_path).find_last()
    assert found is not None and (found.name, found.family) == ("model-last", "spaCy")
    (folder / "textcat" / "model").write_bytes(packed[:200])
    frameworks = FrameworkCheckpoints(tmp_path)
    assert frameworks.find_last() is None
    assert frameworks.damaged[0].problem == "model-last/textcat: model has 200 of 330 bytes"
    (folder / "textcat" / "model").write_bytes(packed)
    (folder / "vocab" / "lookups.bin").unlink()
    assert FrameworkCheckpoints(tmp_path).find_last() is None
