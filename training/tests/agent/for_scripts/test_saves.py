"""`tidewheel.save`, `newest`, `save_due` and `flush`, in threads and processes that really run."""

from __future__ import annotations

import collections
import io
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

import tidewheel
from cluster import wait_until
from tidewheel._state_copy import StateCopy
from tidewheel_agent.checkpoints.checkpoint import find_last_checkpoint

FOR_SCRIPTS = Path(tidewheel.__file__).parents[1]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A process that has just started, with a checkpoint folder."""
    monkeypatch.setenv("TIDEWHEEL_CHECKPOINT_DIR", str(tmp_path))
    monkeypatch.delenv("TIDEWHEEL_CHECKPOINT_SECONDS", raising=False)
    monkeypatch.setattr(tidewheel, "_background", {})
    monkeypatch.setattr(tidewheel, "_saved_step", None)
    yield tmp_path
    tidewheel.flush()


def write_torch(folder: Path, state: object) -> None:
    torch.save(state, folder / "state.pt")


def load_newest() -> tuple[int, Any]:
    newest = tidewheel.newest()
    assert newest is not None
    return newest.step, torch.load(newest.folder / "state.pt", weights_only=False)


def test_a_save_holds_the_state_of_its_moment() -> None:
    model, numbers = torch.nn.Linear(3, 2), numpy.arange(4)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(3)).sum().backward()
    optimizer.step()
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "more": [numbers]}
    expected = io.BytesIO()
    torch.save(state, expected)
    release = threading.Event()

    def write(folder: Path, copy: object) -> None:
        release.wait(10)
        write_torch(folder, copy)

    tidewheel.save(1, write, state)
    with torch.no_grad():
        model.weight.add_(1)
    optimizer.state_dict()["state"][0]["exp_avg"].zero_()
    numbers[:] = 0
    release.set()

    _, loaded = load_newest()
    expected.seek(0)
    before = torch.load(expected, weights_only=False)
    assert torch.equal(loaded["model"]["weight"], before["model"]["weight"])
    first, second = (s["optimizer"]["state"][0]["exp_avg"] for s in (loaded, before))
    assert torch.equal(first, second)
    assert loaded["more"][0].tolist() == [0, 1, 2, 3]
    assert isinstance(loaded["model"], collections.OrderedDict)


class Moment:
    """Stands for a CUDA event."""

    def __init__(self, at: float) -> None:
        self.at, self.is_reached = at, False

    def synchronize(self) -> None:
        self.is_reached = True

    def elapsed_time(self, later: Moment) -> float:
        assert later.is_reached
        return later.at - self.at


def test_a_copy_tells_how_long_a_gpu_stood_still() -> None:
    state_copy = StateCopy()
    state_copy._events = {
        "cuda:0": (Moment(100.0), Moment(150.0)),
        "cuda:1": (Moment(100.0), Moment(600.0)),
    }
    assert state_copy.settle() == 0.5
    assert state_copy.settle() == 0


def test_a_slow_copy_from_a_gpu_delays_the_next_save(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StateCopy, "settle", lambda _copy: 2.0)
    tidewheel.save(1, write_torch, {"weight": torch.ones(2)})
    tidewheel.flush()
    saves = next(iter(tidewheel._background.values()))
    assert 190 < saves.seconds_until_due(at_most=1_000) <= 200


def test_weights_that_are_tied_are_one_in_the_copy(folder: Path) -> None:
    weight = torch.ones(1000, 250)
    tidewheel.save(1, write_torch, {"embedding": weight, "head": weight, "other": weight + 1})
    _, loaded = load_newest()
    assert loaded["embedding"].data_ptr() == loaded["head"].data_ptr()
    assert torch.equal(loaded["other"], weight + 1)
    assert (folder / "step-00000001" / "state.pt").stat().st_size < 2_100_000


def test_a_slow_disk_never_holds_training_and_the_newest_state_is_kept(folder: Path) -> None:
    began, release = threading.Event(), threading.Event()
    written: list[int] = []

    def write(target: Path, copy: dict[str, Any]) -> None:
        began.set()
        release.wait(10)
        written.append(int(copy["step"]))
        write_torch(target, copy)

    for step in range(1, 8):
        tidewheel.save(step, write, {"step": torch.tensor(step)}, keep=2)
        assert began.wait(10)
    release.set()
    tidewheel.flush()

    # The first was being written; the others replaced each other while they waited.
    assert written == [1, 7]
    assert load_newest()[0] == 7
    assert sorted(path.name for path in folder.iterdir()) == ["step-00000001", "step-00000007"]


def test_only_the_newest_are_kept(folder: Path) -> None:
    for step in (1, 2, 3, 4):
        tidewheel.save(step, write_torch, {"step": step}, keep=3)
        tidewheel.flush()
    assert sorted(path.name[-1] for path in folder.iterdir()) == ["2", "3", "4"]


def test_a_damaged_checkpoint_is_passed_over(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for step in (1, 2):
        tidewheel.save(step, write_torch, {"step": step})
        tidewheel.flush()
    path = folder / "step-00000002" / "state.pt"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert load_newest() == (1, {"step": 1})
    assert "step-00000002 is damaged: state.pt has the hash" in capsys.readouterr().err


def test_a_failed_write_is_raised_at_the_next_save(folder: Path) -> None:
    def fail(_folder: Path, _copy: object) -> None:
        raise OSError(28, "No space left on device")

    tidewheel.save(1, write_torch, {"step": 1})
    tidewheel.flush()
    tidewheel.save(2, fail, {"step": 2})
    with pytest.raises(tidewheel.SaveFailedError, match="No space left on device") as error:
        tidewheel.flush()
    assert isinstance(error.value.__cause__, OSError)
    tidewheel.save(3, write_torch, {"step": 3})
    assert load_newest()[0] == 3


def test_a_write_without_files_is_no_checkpoint() -> None:
    tidewheel.save(1, lambda _folder, _copy: None, {"step": 1})
    with pytest.raises(tidewheel.SaveFailedError, match="left no file"):
        tidewheel.flush()
    assert tidewheel.newest() is None


def test_a_write_without_state_runs_at_once_and_counts_once_it_is_hashed(folder: Path) -> None:
    names: list[str] = []

    def write(target: Path) -> None:
        (target / "parts").mkdir()
        (target / "parts" / "weights.bin").write_bytes(b"123")
        names.append(threading.current_thread().name)

    tidewheel.save(5, write, total=10, metrics={"loss": 0.5})
    assert names == [threading.main_thread().name]
    newest = tidewheel.newest()
    assert newest is not None
    assert (newest.step, newest.total, newest.metrics) == (5, 10, {"loss": 0.5})
    seen = find_last_checkpoint(folder)
    assert seen is not None
    assert (seen.step, seen.total_steps, seen.size_bytes) == (5, 10, 3)


def test_only_the_main_process_saves(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEWHEEL_LEADS", "0")
    tidewheel.save(1, write_torch, {"step": 1})
    assert list(folder.iterdir()) == []
    assert not tidewheel.save_due()


def test_a_save_is_due_after_the_shorter_of_two_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    tidewheel.save(1, write_torch, {"step": 1})
    tidewheel.flush()
    now += 4.9
    assert not tidewheel.save_due()
    now += 0.2
    assert tidewheel.save_due()
    monkeypatch.setenv("TIDEWHEEL_CHECKPOINT_SECONDS", "2")
    tidewheel.save(2, write_torch, {"step": 2})
    now += 2.1
    assert tidewheel.save_due()


TRAINING = """
import random, sys, time, numpy, tidewheel
newest = tidewheel.newest()
step, state = 0, {"step": numpy.zeros((), int), "weights": numpy.zeros(200_000)}
if newest:
    state = dict(numpy.load(newest.folder / "state.npz"))
    step = newest.step
    assert int(state["step"]) == step, (int(state["step"]), step)
    assert (state["weights"] == step).all()
print("began", step, flush=True)
while step < int(sys.argv[1]):
    step += 1
    state["step"].fill(step)
    state["weights"] += 1
    tidewheel.save(step, lambda folder, copy: numpy.savez(folder / "state.npz", **copy), state)
    time.sleep(random.random() / 200)
"""


def start(folder: Path, steps: int) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(FOR_SCRIPTS), "OMP_NUM_THREADS": "1"}
    environment["TIDEWHEEL_CHECKPOINT_DIR"] = str(folder)
    command = [sys.executable, "-c", TRAINING, str(steps)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def newest_marked(folder: Path) -> int:
    return max((int(each.parent.name[5:]) for each in folder.glob("*/COMPLETE.json")), default=0)


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_the_newest_whole_checkpoint(folder: Path) -> None:
    chance, safe = random.Random(7), 0
    for _ in range(int(os.environ.get("TIDEWHEEL_KILLS", "5"))):
        with start(folder, 1_000_000) as process:
            assert process.stdout is not None
            began = int(process.stdout.readline().split()[1])
            assert began >= safe
            wait_until(lambda b=began: newest_marked(folder) > b, 60, "a save")  # type: ignore[misc]
            time.sleep(chance.random() / 3)
            process.send_signal(signal.SIGKILL)
        newest = tidewheel.newest()
        assert newest is not None and newest.step > began
        safe = newest.step


@pytest.mark.slow
def test_the_end_of_a_script_waits_for_its_last_save(folder: Path) -> None:
    with start(folder, 3) as process:
        assert process.wait(60) == 0
    newest = tidewheel.newest()
    assert newest is not None and newest.step == 3
    marker = json.loads((folder / "step-00000003" / "COMPLETE.json").read_text())
    assert marker["trainingSeconds"] > 0
