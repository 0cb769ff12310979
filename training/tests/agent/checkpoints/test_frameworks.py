"""Checkpoints of scripts that do not know Tidewheel."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import struct
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoint_files import cut, find, torch_file, trainer
from tidewheel_agent.checkpoints.formats.inert_pickle import read_pickle
from tidewheel_agent.checkpoints.formats.step_names import position_in_name, position_inside
from tidewheel_agent.checkpoints.frameworks import FrameworkCheckpoints
from tidewheel_agent.checkpoints.log_progress import LogProgress
from tidewheel_agent.checkpoints.progress import ProgressReporter
from tidewheel_agent.declared_pattern import DeclaredPattern


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("epoch=3-step=120.ckpt", 120),
        ("model_step_000450.pt", 450),
        ("global_step1000", 1000),
        ("iter-77", 77),
        ("weights.03.keras", 3),
        ("ckpt-12", 12),
        ("checkpoint-500", 500),
        ("ep0-ba5-rank0.pt", 5),
        ("model_0000499.pth", 499),
        ("00120", 120),
        ("xgb_81.ubj", 81),
        ("rl_model_256_steps.zip", 256),
        ("epoch_07.weights.h5", 7),
        ("last", None),
        ("resnet50.pth", None),
        ("resnet50-v2.pth", None),
        ("model_1e-4_bs32.pt", None),
        ("last-v1.ckpt", None),
        ("version_3", None),
        ("model-00001-of-00002.safetensors", None),
        ("steplr_7.pt", None),
        ("seed_42", None),
        ("model_128_steps_warmup.pt", None),
    ],
)
def test_a_name_holds_the_step_or_none(name: str, step: int | None) -> None:
    position = position_in_name(name)
    assert (position.step if position else None) == step


@pytest.mark.parametrize(
    ("folder", "file", "position"),
    [
        ("step-{:08d}", "lit_model.pth", (20, "step")),
        ("epoch_{}", "model.pt", (20, "epoch")),
        ("run_{}", "model.pt", (-1, "saves")),
    ],
)
def test_a_folder_holds_the_step_of_its_file(
    tmp_path: Path, folder: str, file: str, position: tuple[int, str]
) -> None:
    for step in (10, 20):
        torch_file(tmp_path / folder.format(step) / file)
    found = find(tmp_path)
    assert found is not None
    assert found.name == f"{folder.format(20)}/{file}"
    assert (found.step, found.unit) == position


def test_lightning_files_hold_their_global_step(tmp_path: Path) -> None:
    torch_file(tmp_path / "logs/version_0/checkpoints/last-v1.ckpt", epoch=1, global_step=60)
    found = find(tmp_path)
    assert found is not None
    assert (found.name, found.step) == ("logs/version_0/checkpoints/last-v1.ckpt", 60)


def test_the_furthest_complete_file_counts(tmp_path: Path) -> None:
    first = torch_file(tmp_path / "step=20.ckpt")
    os.utime(first, (1_790_000_000, 1_790_000_000))
    second = torch_file(tmp_path / "step=40.ckpt")
    frameworks = FrameworkCheckpoints(tmp_path)
    found = frameworks.find_last()
    assert found is not None and found.step == 40
    cut(second)
    found = frameworks.find_last()
    assert found is not None and found.step == 20


def test_hugging_face_holds_total_steps_and_loss(tmp_path: Path) -> None:
    history = [{"loss": 0.9, "step": 10, "epoch": 0.1}, {"loss": 0.5, "step": 20}]
    trainer(tmp_path / "checkpoint-20", 20, max_steps=300, log_history=history)
    found = find(tmp_path)
    assert found is not None
    assert (found.name, found.step, found.total_steps) == ("checkpoint-20", 20, 300)
    assert found.metrics == {"loss": 0.5}


def test_tensorflow_checkpoints_count_with_index_and_all_shards(tmp_path: Path) -> None:
    magic = (0xDB4775248B80FB57).to_bytes(8, "little")
    for name in ("ckpt-1.data-00000-of-00002", "ckpt-1.data-00001-of-00002"):
        (tmp_path / name).write_bytes(b"x" * 40)
    (tmp_path / "ckpt-1.index").write_bytes(b"x" * 40)
    assert find(tmp_path) is None
    (tmp_path / "ckpt-1.index").write_bytes(b"x" * 40 + magic)
    found = find(tmp_path)
    assert found is not None and (found.name, found.step) == ("ckpt-1", 1)
    (tmp_path / "ckpt-1.data-00001-of-00002").unlink()
    assert find(tmp_path) is None


@pytest.mark.parametrize(("version", "offset"), [(0, 40), (1, 44), (2, 28), (3, 28)])
def test_keras_weights_count_at_their_full_length(
    tmp_path: Path, version: int, offset: int
) -> None:
    content = bytearray(b"\x89HDF\r\n\x1a\n" + bytes([version]) + b"\0" * 91)
    struct.pack_into("<Q", content, offset, 100)
    path = tmp_path / "epoch_07.weights.h5"
    path.write_bytes(content)
    found = find(tmp_path)
    assert found is not None and found.step == 7
    path.write_bytes(content[:99])
    assert find(tmp_path) is None
    # Before it is closed, its head has the length of its beginning.
    path.write_bytes(bytes(content) + bytes(900))
    assert find(tmp_path) is None


def hdf5(path: Path) -> Path:
    content = bytearray(b"\x89HDF\r\n\x1a\n\x02" + b"\0" * 91)
    struct.pack_into("<Q", content, 28, 100)
    path.write_bytes(content)
    return path


def problems_of(folder: Path) -> list[str]:
    checkpoints = FrameworkCheckpoints(folder)
    assert checkpoints.find_last() is None
    return [found.problem for found in checkpoints.damaged]


def test_the_number_of_a_keras_shard_is_no_step(tmp_path: Path) -> None:
    """As keras 3.15 saves with max_shard_size: shards from 0, then the index."""
    shards = [f"model_{number:05d}.weights.h5" for number in range(3)]
    for name in shards:
        hdf5(tmp_path / name)
    index = tmp_path / "model.weights.json"
    missing = f"{index.name}, which lists the shards, is missing"
    assert problems_of(tmp_path) == [missing]
    text = json.dumps({"metadata": {}, "weight_map": {"/layers/dense/vars": shards}})
    index.write_text(text[:40])
    assert problems_of(tmp_path) == [f"{index.name} is cut off"]
    index.write_text(text)
    assert problems_of(tmp_path) == []
    (tmp_path / shards[1]).unlink()
    assert problems_of(tmp_path) == [f"{shards[1]} is missing"]


def test_epochs_in_the_names_of_keras_weights_are_steps(tmp_path: Path) -> None:
    for number in (1, 2):
        hdf5(tmp_path / f"model_{number:05d}.weights.h5")
    found = find(tmp_path)
    assert found is not None and found.step == 2


def test_shards_without_an_index_count_together(tmp_path: Path) -> None:
    for number in (1, 2):
        safetensors = tmp_path / f"model-{number:05d}-of-00003.safetensors"
        safetensors.write_bytes(struct.pack("<Q", 2) + b"{}")
    assert problems_of(tmp_path) == ["2 of 3 shards are there"]


def test_keras_backup_needs_every_shard(tmp_path: Path) -> None:
    (tmp_path / "training_metadata.json").write_text('{"epoch": 4}')
    shards = ["latest_00000.weights.h5", "latest_00001.weights.h5"]
    index = {"weight_map": {"/layers/dense/vars": shards}}
    (tmp_path / "latest.weights.json").write_text(json.dumps(index))
    hdf5(tmp_path / shards[0])
    assert problems_of(tmp_path) == [f"{shards[1]}, which latest.weights.json lists, is missing"]
    hdf5(tmp_path / shards[1])
    found = find(tmp_path)
    assert found is not None and (found.step, found.unit) == (4, "epoch")


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_any_bytes_can_be_read_as_a_pickle(content: bytes) -> None:
    with contextlib.suppress(ValueError):
        read_pickle(content)


def test_reading_a_pickle_does_not_run_it() -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (os.system, ("touch /tmp/sprung-by-pickle",))

    content = pickle.dumps({"step": 300, "trap": Trap(), "epoch": 70_000})
    position = position_inside(read_pickle(content))
    assert position is not None and (position.step, position.unit) == (300, "step")
    assert not Path("/tmp/sprung-by-pickle").exists()


@pytest.mark.parametrize(
    ("saved", "step", "unit"),
    [
        ({"it": 900, "optimizer": {"state": {0: {"step": 7}}}}, 900, "step"),
        ({"iter_num": 80, "model_args": {"step": 3}}, 80, "step"),
        ({"epoch": 4, "state_dict": {}}, 4, "epoch"),
        ({"optimizer_history": [{"num_updates": 12}]}, 12, "step"),
        ({"trainer_state": {"steps_done": 5}}, 5, "step"),
        ({"optimizer": {"step": 7}}, None, ""),
        ({"step": True}, None, ""),
    ],
)
def test_the_outer_entries_hold_the_position(
    saved: dict[str, object], step: int | None, unit: str
) -> None:
    position = position_inside(saved)
    assert (position.step if position else None) == step
    assert position is None or position.unit == unit


def read_step(folder: Path) -> tuple[int, int]:
    note = json.loads((folder / "tidewheel-progress.json").read_text())
    return note["step"], note["totalSteps"]


def test_checkpoints_without_a_step_still_prove_work(tmp_path: Path) -> None:
    log_progress = LogProgress()
    reporter = ProgressReporter(tmp_path, leader=True, log_progress=log_progress)
    for expected, at in ((1, 1_790_000_000), (2, 1_790_000_100)):
        os.utime(torch_file(tmp_path / "weights.pt"), (at, at))
        reporter.check()
        reporter.check()
        assert read_step(tmp_path) == (expected, 0)
    log_progress.step, log_progress.total = 500, 900
    os.utime(torch_file(tmp_path / "weights.pt"), (1_790_000_200, 1_790_000_200))
    reporter.check()
    assert read_step(tmp_path) == (500, 900)
    # The next attempt finds the old file, which proves nothing new.
    again = ProgressReporter(tmp_path, leader=True, log_progress=LogProgress())
    again.check()
    assert read_step(tmp_path)[0] == 500


def test_a_file_without_its_epoch_is_not_behind_the_last_one(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """As Ultralytics does once its training has ended."""
    reporter = ProgressReporter(tmp_path, leader=True, log_progress=LogProgress())
    reporter.script_started(time.time(), dict)
    torch_file(tmp_path / "weights/last.pt", epoch=19)
    reporter.check()
    torch_file(tmp_path / "weights/last.pt", epoch=-1, best=True)
    newest = reporter.check()
    assert newest is not None and (newest.step, newest.unit) == (19, "saves")
    assert read_step(tmp_path)[0] == 19
    assert "complete: epoch 19 is safe" in capfd.readouterr().out


def test_a_pattern_reads_other_scripts_lines() -> None:
    pattern = DeclaredPattern(
        "pattern", r"Iter (?P<step>[\d,]+)/(?P<total>[\d,]+): loss = (?P<loss>\S+)"
    )
    log = LogProgress(pattern)
    log.read_line("Iter 1,200/30,000: loss = 0.25")
    assert (log.step, log.total, log.metrics) == (1200, 30_000, {"loss": 0.25})
