"""Sets of files and formats beside torch's: whole ones count, damaged ones do not."""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
import struct
import time
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.distributed.checkpoint

from checkpoint_files import cut, find, safetensors_file, torch_file, trainer
from cluster import wait_until
from tidewheel_agent.checkpoints.frameworks import UNKNOWN_STEP, FrameworkCheckpoints
from tidewheel_agent.checkpoints.kept.generation import read_generations
from tidewheel_agent.checkpoints.kept.repair import repair
from tidewheel_agent.checkpoints.log_progress import LogProgress
from tidewheel_agent.checkpoints.progress import ProgressReporter


def ubjson_model(rounds: int) -> bytes:
    """The shape of XGBoost's UBJSON: keys of any length type, typed arrays, nested objects."""
    indptr = b"[$l#L" + struct.pack(">q", rounds + 1) + struct.pack(">i", 1) * (rounds + 1)
    model = b"{" + b"L" + struct.pack(">q", 16) + b"iteration_indptr" + indptr + b"}"
    return b"{" + b"L" + struct.pack(">q", 7) + b"learner" + model + b"}"


def xgboost_json(rounds: int) -> bytes:
    model = {"iteration_indptr": list(range(rounds + 1)), "trees": [{"id": 0}] * 40}
    return json.dumps({"learner": {"gradient_booster": {"model": model}}}).encode()


LIGHTGBM = (
    b"tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\ntree_sizes=3 3 3\n\n"
    b"Tree=0\nTree=1\nTree=2\n\nend of trees\n\nfeature_importances:\n\nparameters:\n"
    b"\nend of parameters\n\npandas_categorical:null\n"
)


def old_torch(path: Path) -> None:
    state = {"it": 900, "w": torch.ones(500), "h": torch.ones(7, dtype=torch.bfloat16)}
    torch.save(state, path, _use_new_zipfile_serialization=False)


def npz(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, weights=np.ones(300), step=9)


def keras_file(path: Path) -> None:
    """As Keras 3 saves a model: a zip of its configuration and its weights."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", '{"keras_version": "3.15.0"}')
        archive.writestr("config.json", "{}")
        archive.writestr("model.weights.h5", bytes(3000))


class NumpyArrayWrapper:
    """joblib's class of this name, by what it pickles."""

    def __init__(self) -> None:
        vars(self).update(shape=(90,), dtype=np.dtype("f8"), numpy_array_alignment_bytes=16)


def joblib_file(path: Path) -> None:
    """An array's bytes lie behind the opcodes that describe it: two close the dict and the file."""
    content = pickle.dumps({"n_iter": 6, "coef": NumpyArrayWrapper()}, protocol=2)
    padding = b"\x03\xff\xff\xff"
    path.write_bytes(content[:-2] + padding + np.ones(90).tobytes() + content[-2:])


def compressed_joblib_file(path: Path) -> None:
    joblib_file(path)
    path.write_bytes(zlib.compress(path.read_bytes()))


JOURNAL = (
    b'{"op_code":0,"study_name":"s"}\n{"op_code":6,"trial_id":0,"state":1,"values":[0.2]}\n'
    b'{"op_code":6,"trial_id":1,"state":2}\n{"op_code":6,"trial_id":2,"state":3}\n'
    b'{"op_code":6,"trial_id":3,"state":1'
)


def test_a_journal_counts_the_trials_that_are_finished(tmp_path: Path) -> None:
    journal = tmp_path / "study.log"
    journal.write_bytes(JOURNAL[:40])
    assert find(tmp_path) is None
    journal.write_bytes(JOURNAL)
    found = find(tmp_path)
    assert found is not None and (found.step, found.is_weak) == (2, False)


@pytest.mark.parametrize(
    ("name", "write", "step"),
    [
        ("s.joblib", joblib_file, 6),
        ("z.joblib", compressed_joblib_file, 6),
        ("old.pt", old_torch, 900),
        ("epoch_5.npz", npz, 5),
        ("model.03.keras", keras_file, 3),
        ("xgb.ubj", lambda path: path.write_bytes(ubjson_model(7)), 7),
        ("xgb.json", lambda path: path.write_bytes(xgboost_json(8)), 8),
        ("lgb.txt", lambda path: path.write_bytes(LIGHTGBM), 3),
        ("state.pkl", lambda path: path.write_bytes(pickle.dumps({"n_iter": 6})), 6),
        ("model_4.safetensors", safetensors_file, 4),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_single_file_counts_until_it_is_cut_off(
    tmp_path: Path, name: str, write: Callable[[Path], object], step: int
) -> None:
    write(tmp_path / name)
    found = find(tmp_path)
    assert found is not None and (found.name, found.step) == (name, step)
    cut(tmp_path / name)
    assert find(tmp_path) is None


def test_a_flipped_bit_in_a_tensor_is_noticed(tmp_path: Path) -> None:
    path = torch_file(tmp_path / "ckpt.pt", iter_num=80)
    content = bytearray(path.read_bytes())
    content[bytes(content).index(struct.pack("<f", 1.0) * 20)] ^= 1
    path.write_bytes(content)
    frameworks = FrameworkCheckpoints(tmp_path)
    assert frameworks.find_last() is None
    assert "does not match its checksum" in frameworks.damaged[0].problem


def test_files_saved_without_checksums_count(tmp_path: Path) -> None:
    options = vars(torch.serialization)
    options["set_crc32_options"](False)
    try:
        torch_file(tmp_path / "ckpt.pt", iter_num=80)
    finally:
        options["set_crc32_options"](True)
    found = find(tmp_path)
    assert found is not None and found.step == 80


def distributed(folder: Path) -> None:
    save = vars(torch.distributed.checkpoint)["save"]
    save({"w": torch.ones(300)}, checkpoint_id=str(folder / "step-30"), no_dist=True)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_distributed_checkpoint_needs_every_listed_byte(tmp_path: Path) -> None:
    distributed(tmp_path)
    found = find(tmp_path)
    assert found is not None and found.step == 30
    shard = tmp_path / "step-30" / "__0_0.distcp"
    cut(shard)
    assert find(tmp_path) is None
    shard.unlink()
    frameworks = FrameworkCheckpoints(tmp_path)
    assert frameworks.find_last() is None
    assert "__0_0.distcp, which it lists, is missing" in frameworks.damaged[0].problem


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_parts_of_other_hosts_are_listed_for_the_bucket(tmp_path: Path) -> None:
    frameworks = FrameworkCheckpoints(tmp_path, has_peers=True)
    frameworks.script_started(time.time())
    distributed(tmp_path)
    part = tmp_path / "step-30" / "__0_0.distcp"
    size = part.stat().st_size
    part.unlink()
    found = frameworks.find_last()
    assert found is not None
    assert found.files["step-30/__0_0.distcp"] == size
    # What an earlier attempt left came from the bucket, so a missing part is missing there.
    assert FrameworkCheckpoints(tmp_path, has_peers=True).find_last() is None
    frameworks.script_started(time.time())
    assert frameworks.find_last() is None


def trainer_of_the_model_alone(folder: Path) -> None:
    safetensors_file(folder / "model.safetensors")
    (folder / "trainer_state.json").write_text(json.dumps({"global_step": 50, "max_steps": 90}))
    # transformers' TrainingArguments are a dataclass, pickled by its attributes.
    torch.save(SimpleNamespace(save_only_model=True), folder / "training_args.bin")


def accelerate(folder: Path, weights: str = "model.safetensors") -> None:
    safetensors_file(folder / weights)
    for name in ("optimizer.bin", "scheduler.bin", "random_states_0.pkl", "random_states_1.pkl"):
        torch_file(folder / name)


@pytest.mark.parametrize(
    ("name", "write", "parts"),
    [
        (
            "checkpoint-50",
            trainer,
            (
                "trainer_state.json",
                "optimizer.pt",
                "scheduler.pt",
                "rng_state.pth",
                "model.safetensors",
            ),
        ),
        (
            "checkpoint-50",
            trainer_of_the_model_alone,
            ("trainer_state.json", "model.safetensors"),
        ),
        (
            "step_50",
            accelerate,
            ("model.safetensors", "optimizer.bin", "random_states_0.pkl"),
        ),
        (
            "checkpoint-50",
            partial(accelerate, weights="pytorch_lora_weights.safetensors"),
            ("pytorch_lora_weights.safetensors", "random_states_0.pkl"),
        ),
        (
            "checkpoint-50",
            partial(accelerate, weights="controlnet/diffusion_pytorch_model.safetensors"),
            ("controlnet/diffusion_pytorch_model.safetensors", "optimizer.bin"),
        ),
    ],
)
def test_a_folder_counts_only_with_all_its_parts(
    tmp_path: Path, name: str, write: Callable[[Path], None], parts: tuple[str, ...]
) -> None:
    for index, part in enumerate(parts):
        folder = tmp_path / str(index)
        write(folder / name)
        found = find(folder)
        assert found is not None and (found.name, found.step) == (name, 50)
        (folder / name / part).unlink()
        assert find(folder) is None, part


def test_weights_alone_in_a_steps_folder_wait_for_the_rest(tmp_path: Path) -> None:
    frameworks = FrameworkCheckpoints(tmp_path)
    frameworks.script_started(time.time())
    path = safetensors_file(tmp_path / "step_20" / "model.safetensors")
    assert frameworks.find_last() is None
    os.utime(path, (time.time() - 20, time.time() - 20))
    found = frameworks.find_last()
    assert found is not None and (found.step, found.is_weak) == (20, True)


def test_shards_count_with_the_index_that_lists_them(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint-50"
    trainer(folder)
    (folder / "model.safetensors").unlink()
    shards = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
    index = {"weight_map": dict(zip("ab", shards, strict=True))}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    safetensors_file(folder / shards[0])
    assert find(tmp_path) is None
    safetensors_file(folder / shards[1])
    found = find(tmp_path)
    assert found is not None and found.step == 50


def test_deepspeed_needs_the_optimizer_of_every_rank(tmp_path: Path) -> None:
    folder = tmp_path / "global_step50"
    torch_file(folder / "mp_rank_00_model_states.pt", dp_world_size=2)
    torch_file(folder / "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt")
    (tmp_path / "latest").write_text("global_step50")
    assert find(tmp_path) is None
    torch_file(folder / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt")
    found = find(tmp_path)
    assert found is not None and found.step == 50


def test_orbax_counts_once_it_is_committed(tmp_path: Path) -> None:
    item = tmp_path / "12" / "default"
    (item / "ocdbt.process_0").mkdir(parents=True)
    (item / "_METADATA").write_text("{}")
    (item / "ocdbt.process_0" / "d").write_bytes(b"x" * 90)
    metadata = tmp_path / "12" / "_CHECKPOINT_METADATA"
    metadata.write_text('{"commit_timestamp_nsecs": null}')
    (item / "manifest.ocdbt").write_bytes(b"x")
    assert find(tmp_path) is None
    metadata.write_text('{"commit_timestamp_nsecs": 1790000000}')
    found = find(tmp_path)
    assert found is not None and (found.name, found.step) == ("12", 12)
    (item / "manifest.ocdbt").unlink()
    assert find(tmp_path) is None


def test_the_epoch_of_best_does_not_beat_that_of_last(tmp_path: Path) -> None:
    torch_file(tmp_path / "last.pt", epoch=9)
    torch_file(tmp_path / "best.pt", epoch=4)
    found = find(tmp_path)
    assert found is not None and (found.name, found.unit) == ("last.pt", "epoch")
    torch_file(tmp_path / "best.pt", epoch=9)
    found = find(tmp_path)
    assert found is not None and found.name == "last.pt"


def test_files_that_were_there_first_are_no_checkpoints(tmp_path: Path) -> None:
    torch_file(tmp_path / "pretrained" / "model.pt", step=5000)
    reporter = ProgressReporter(tmp_path, leader=True, log_progress=LogProgress())
    assert reporter.newest is None
    reporter.script_started(time.time(), dict)
    assert reporter.check() is None
    torch_file(tmp_path / "model.pt", step=3)
    newest = reporter.check()
    assert newest is not None and newest.step == 3
    again = ProgressReporter(tmp_path, leader=True, log_progress=LogProgress())
    assert again.newest is not None and again.newest.step == 3


@pytest.mark.parametrize(
    "name", ["resnet50.pth", "resnet50-0676ba61.pth", "hub/checkpoints/net.pt"]
)
def test_downloaded_weights_are_no_checkpoints(tmp_path: Path, name: str) -> None:
    frameworks = FrameworkCheckpoints(tmp_path)
    frameworks.script_started(time.time())
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"w": torch.ones(3)}, path)
    assert frameworks.find_last() is None
    assert frameworks.find_last() is None


def test_weights_with_a_word_for_the_epoch_are_no_download(tmp_path: Path) -> None:
    frameworks = FrameworkCheckpoints(tmp_path)
    frameworks.script_started(time.time())
    for epoch in range(3):
        torch.save({"w": torch.ones(3)}, tmp_path / f"resnet18_epoch_{epoch}.pth")
    found = frameworks.find_last()
    assert found is not None
    assert (found.name, found.step, found.unit) == ("resnet18_epoch_2.pth", 2, "epoch")


def test_a_model_from_before_the_first_step_is_none(tmp_path: Path) -> None:
    now, steps = time.time(), 0
    frameworks = FrameworkCheckpoints(tmp_path, now=lambda: now)
    frameworks.script_started(now, lambda: steps == 0)
    torch_file(tmp_path / "base.pt")
    assert frameworks.find_last() is None
    steps = 1
    assert frameworks.find_last() is None
    torch_file(tmp_path / "base.pt", more=1)
    assert frameworks.find_last() is not None


def test_a_loop_without_counted_steps_has_its_files_in_time(tmp_path: Path) -> None:
    now = time.time()
    frameworks = FrameworkCheckpoints(tmp_path, now=lambda: now)
    frameworks.script_started(now, lambda: True)
    torch_file(tmp_path / "model.pt")
    assert frameworks.find_last() is None
    torch_file(tmp_path / "step_3.pt")
    assert frameworks.find_last() is not None
    (tmp_path / "step_3.pt").unlink()
    now += 121
    assert frameworks.find_last() is not None


def test_an_unpacked_archive_keeps_its_old_time_and_does_not_count(tmp_path: Path) -> None:
    frameworks = FrameworkCheckpoints(tmp_path)
    frameworks.script_started(time.time())
    os.utime(torch_file(tmp_path / "model.pt", step=3), (1_600_000_000, 1_600_000_000))
    assert frameworks.find_last() is None


def test_unknown_files_count_weakly_once_they_are_quiet(tmp_path: Path) -> None:
    frameworks = FrameworkCheckpoints(tmp_path)
    frameworks.script_started(time.time())
    for name in ("state/part.xyz", "state/other.abc", "events.out.tfevents.1", "log.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * 100)
    assert frameworks.find_last() is None
    for path in (tmp_path / "state").iterdir():
        os.utime(path, (time.time() - 20, time.time() - 20))
    found = frameworks.find_last()
    assert found is not None
    assert (found.name, found.step, found.is_weak) == ("state", UNKNOWN_STEP, True)


def test_deep_folders_and_many_other_files_hide_nothing(tmp_path: Path) -> None:
    samples = tmp_path / "a_samples"
    samples.mkdir()
    for number in range(6000):
        (samples / f"{number}.png").touch()
    torch_file(tmp_path / "logs/a/b/c/d/e/model.pt", step=3)
    found = find(tmp_path)
    assert found is not None and found.step == 3


def test_what_a_look_leaves_out_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tmp_path.joinpath(*["x"] * 18).mkdir(parents=True)
    ProgressReporter(tmp_path, leader=True, log_progress=LogProgress()).check()
    assert capfd.readouterr().out.count("not looked at for checkpoints") == 1


def study(path: Path, trials: int) -> sqlite3.Connection:
    """As Optuna's RDBStorage: a commit for each trial."""
    database = sqlite3.connect(path)
    database.execute("create table if not exists trials (number integer, text text)")
    for number in range(trials):
        database.execute("insert into trials values (?, ?)", (number, "x" * 3000))
        database.commit()
    return database


def test_a_database_counts_between_its_transactions(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    database = study(path, 4)
    assert find(tmp_path) is not None
    database.execute("pragma cache_size = 1")
    database.executemany("insert into trials values (?, ?)", [(9, "y" * 9000)] * 40)
    assert problems(tmp_path) == ["study.db has a transaction that is not finished"]
    database.rollback()
    assert find(tmp_path) is not None
    cut(path)
    assert "bytes" in problems(tmp_path)[0]


def test_each_transaction_of_a_database_is_new_work(tmp_path: Path) -> None:
    reporter = ProgressReporter(tmp_path, leader=True, log_progress=LogProgress())
    reporter.script_started(time.time(), dict)
    steps = []
    for number in range(3):
        study(tmp_path / "study.db", 1).close()
        os.utime(tmp_path / "study.db", (time.time() + number,) * 2)
        newest = reporter.check()
        assert newest is not None
        steps.append(newest.step)
    assert steps == [1, 2, 3]


def problems(folder: Path) -> list[str]:
    checkpoints = FrameworkCheckpoints(folder)
    checkpoints.find_last()
    return [found.problem for found in checkpoints.damaged]


def test_a_database_comes_back_without_what_lay_beside_it(tmp_path: Path) -> None:
    reporter = ProgressReporter(tmp_path, leader=True, log_progress=LogProgress())
    reporter.script_started(time.time(), dict)
    study(tmp_path / "study.db", 3).close()
    wait_until(
        lambda: reporter.check() is not None and bool(read_generations(tmp_path)), 10, "kept"
    )
    # A journal of an earlier transaction, which the bucket has kept: SQLite would roll it back.
    (tmp_path / "study.db-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(504))
    assert [each.name for each in repair(tmp_path, None, leads=True)] == ["study.db"]
    assert not (tmp_path / "study.db-journal").exists()
    rows = sqlite3.connect(tmp_path / "study.db").execute("select count(*) from trials").fetchone()
    assert rows == (3,)


@pytest.mark.parametrize("name", ["lookups.bin", "vocab/strings.pt", "model.tar"])
def test_a_suffix_alone_damages_nothing(tmp_path: Path, name: str) -> None:
    frameworks = FrameworkCheckpoints(tmp_path)
    frameworks.script_started(time.time() - 60)
    for each in ("model-last/ner/model", f"model-last/{name}"):
        path = tmp_path / each
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\x81\xa1x\x01" if each.endswith(name) else b"weights" * 99)
        os.utime(path, (time.time() - 20,) * 2)
    found = frameworks.find_last()
    assert frameworks.damaged == []
    assert found is not None and (found.name, found.is_weak) == ("model-last", True)
    path.write_bytes(b"")
    assert frameworks.find_last() is None


def test_data_that_is_skipped_again_is_no_training(tmp_path: Path) -> None:
    reporter = ProgressReporter(tmp_path, leader=True, log_progress=LogProgress())
    reporter.script_started(time.time() - 100, dict, dict, lambda: False, lambda: 70.0)
    torch_file(tmp_path / "model.pt", step=5)
    reporter.check()
    note = json.loads((tmp_path / "tidewheel-progress.json").read_text())
    assert 29 < note["trainingSeconds"] < 60
