"""Recipes begin from a model: its weights, classes and tokens are kept, all else begins afresh."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

import tidewheel
from common.program import run
from common.settings import TrainingSettings
from digits import write_digits
from recipe_modules import load_modules

(ddp,) = load_modules("ddp", "train")
lm_config, language, make_text = load_modules("lm", "config", "language", "make_text")
Train = Callable[..., Path]
Make = Callable[..., object]


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Train:
    """Trains in this process, and returns the folder of the model."""

    def trained(
        kind: type[TrainingSettings],
        make: Make,
        channel: Path,
        name: str,
        *arguments: str,
        checkpoints: Path | None = None,
    ) -> Path:
        model = tmp_path / name
        model.mkdir()
        for variable in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "RENDEZVOUS_FILE"):
            monkeypatch.delenv(variable, raising=False)
        monkeypatch.setenv("SM_CHANNEL_TRAIN", str(channel))
        monkeypatch.setenv("SM_MODEL_DIR", str(model))
        if checkpoints is not None:
            monkeypatch.setenv("TIDEWHEEL_CHECKPOINT_DIR", str(checkpoints))
        monkeypatch.setattr(sys, "argv", ["train.py", *arguments])
        before = set(os.environ)
        try:
            run(kind, make)  # type: ignore[arg-type]
        finally:
            # It names its ranks there, and programs of later tests would take the names for theirs.
            for variable in set(os.environ) - before:
                del os.environ[variable]
            if dist.is_initialized():
                dist.destroy_process_group()
        return model

    return trained


@pytest.fixture
def train_digits(train: Train) -> Train:
    def trained(channel: Path, name: str, *arguments: str, checkpoints: Path | None = None) -> Path:
        small = ["--width=4", "--batch_size=32", "--loader_workers=0", *arguments]
        return train(ddp.Config, ddp.make_task, channel, name, *small, checkpoints=checkpoints)

    return trained


def digits_of(folder: Path, *classes: int) -> Path:
    some = tuple(f"{label}/0{hundred}" for label in classes for hundred in range(4))
    write_digits(folder / "shards", shards=1, takes=lambda key: key.startswith(some))
    return folder


def described(model: Path) -> dict[str, object]:
    content: dict[str, object] = json.loads((model / "model.json").read_text())
    return content


def weights(model: Path) -> dict[str, torch.Tensor]:
    state: dict[str, torch.Tensor] = torch.load(model / "model.pt", weights_only=True)
    return state


def test_a_model_keeps_its_classes_and_gains_new_ones(tmp_path: Path, train_digits: Train) -> None:
    first = train_digits(digits_of(tmp_path / "a", 3, 7, 9), "first", "--epochs=2")
    rest = ("--epochs=1", f"--init={first}")
    # So small a rate changes nothing that a float32 shows.
    new = digits_of(tmp_path / "b", 1, 7)
    then = train_digits(new, "then", *rest, "--learning_rate=1e-9", "--weight_decay=0")
    assert described(first)["labels"] == ["3", "7", "9"]
    assert described(then)["labels"] == ["3", "7", "9", "1"]
    for name, old in weights(first).items():
        now = weights(then)[name]
        torch.testing.assert_close(now[: len(old)], old, rtol=0, atol=1e-6)
    assert len(weights(then)["12.weight"]) == 4


def test_a_resumed_training_keeps_what_its_model_meant(
    tmp_path: Path, train_digits: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = train_digits(digits_of(tmp_path / "a", 3, 7, 9), "first", "--epochs=1")
    new = digits_of(tmp_path / "b", 1, 7)
    saved = tmp_path / "checkpoints"
    arguments = ("--epochs=3", "--checkpoint_steps=2")
    whole = train_digits(new, "whole", *arguments, f"--init={first}")

    stops = iter([False, False, True])
    monkeypatch.setattr(tidewheel, "stop_soon", lambda: next(stops, False))
    train_digits(new, "stopped", *arguments, f"--init={first}", checkpoints=saved)
    assert not (tmp_path / "stopped" / "model.pt").exists()
    # The next attempt has no channel with the model.
    resumed = train_digits(new, "resumed", *arguments, checkpoints=saved)
    assert described(resumed) == described(whole)
    assert all(torch.equal(weights(whole)[name], of) for name, of in weights(resumed).items())

    for step in saved.glob("step-*"):
        shutil.rmtree(step)
    with pytest.raises(ValueError, match="began from a model is gone"):
        train_digits(new, "lost", *arguments, checkpoints=saved)


def test_a_model_of_another_size_is_refused(tmp_path: Path, train_digits: Train) -> None:
    channel = digits_of(tmp_path / "a", 3, 7)
    first = train_digits(channel, "first", "--epochs=1")
    with pytest.raises(ValueError, match=r"init: 0\.weight has the shape \(8, 1, 3, 3\), and the"):
        train_digits(channel, "wider", f"--init={first}", "--width=8")
    with pytest.raises(ValueError, match=r"model\.json is not there"):
        train_digits(channel, "none", f"--init={tmp_path}")


def test_a_language_model_keeps_its_tokens(tmp_path: Path, train: Train) -> None:
    for seed in (1, 2):
        make_text.make(tmp_path / str(seed), shards=1, stories=40, seed=seed)
    small = (
        "--epochs=1",
        "--width=16",
        "--depth=1",
        "--context=16",
        "--vocabulary=300",
        "--holdout_percent=20",
    )
    both = (lm_config.Config, language.LanguageTask)
    first = train(*both, tmp_path / "1", "first", *small)
    rate = ("--learning_rate=1e-9", "--weight_decay=0")
    then = train(*both, tmp_path / "2", "then", *small, *rate, f"--init={first}")
    alone = train(*both, tmp_path / "2", "alone", *small)
    assert described(then)["merges"] == described(first)["merges"] != described(alone)["merges"]
    for name, old in weights(first).items():
        torch.testing.assert_close(weights(then)[name], old, rtol=0, atol=1e-6)
