"""Scripts that save nothing, resumed from a checkpoint that the hooks made: real processes.

They share the import of PyTorch (warm_python.py). Each with a Python of its own, two minutes:
`pytest -m heavy tests/automatic/test_automatic.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from automatic_runs import SCRIPTS, automatic_host, steps
from cluster import running, wait_until
from hosts import TRAINING
from warm_python import REPLAYS, warm_torch

HOOKS = TRAINING / "automatic"
FOR_SCRIPTS = TRAINING / "agent" / "for_scripts"
pytestmark = pytest.mark.slow
Run = Callable[..., subprocess.CompletedProcess[str]]


def environment_of(folder: Path, variables: dict[str, str]) -> dict[str, str]:
    folder.mkdir(parents=True, exist_ok=True)
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(HOOKS), str(FOR_SCRIPTS)]),
        "OMP_NUM_THREADS": "1",
        "TIDEWHEEL_AUTOMATIC_DIR": str(folder / "checkpoints"),
        **variables,
    }


def run(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = environment_of(folder, variables)
    return warm_torch(*REPLAYS).run(str(SCRIPTS / script), cwd=folder, env=environment)


def run_cold(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """In a Python of its own, with other hashes of strings."""
    return subprocess.run(
        [sys.executable, str(SCRIPTS / script)],
        cwd=folder,
        env=environment_of(folder, variables),
        capture_output=True,
        text=True,
        timeout=120,
    )


def digest(ended: subprocess.CompletedProcess[str]) -> str:
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()[-1]


def files_of(folder: Path) -> dict[str, bytes]:
    """What a script has saved there."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    named = {str(path.relative_to(folder)): path.read_bytes() for path in paths}
    return {name: content for name, content in named.items() if not name.startswith("step-")}


RESUMED = [
    ("copies_script.py", 9),
    ("epochs_script.py", 5),
    ("adversarial_script.py", 9),
    ("models_script.py", 8),
    ("histogram_script.py", 8),
    ("numbers_script.py", 13),
    ("iterators_script.py", 8),
    ("held_script.py", 9),
    ("by_hand_script.py", 15),
    ("shapes_script.py", 11),
    ("packed_script.py", 7),
    ("workers_script.py", 7),
    ("recurrent_script.py", 11),
]


@pytest.mark.parametrize(("script", "every"), RESUMED)
@pytest.mark.parametrize("run", [run, pytest.param(run_cold, marks=pytest.mark.heavy)])
def test_a_resumed_script_ends_with_the_same_weights(
    run: Run, script: str, every: int, tmp_path: Path
) -> None:
    whole = run(script, tmp_path, TIDEWHEEL_AUTOMATIC_STEPS=str(every))
    expected = digest(whole)
    step = int(steps(tmp_path)[0][5:])
    # Another host has nothing but the checkpoints.
    other = tmp_path / "other"
    shutil.copytree(tmp_path / "checkpoints", other / "checkpoints")
    shutil.rmtree(other / "checkpoints" / steps(tmp_path)[1])
    resumed = run(script, other)
    assert digest(resumed) == expected
    assert f"restored after step {step}: training goes on" in resumed.stderr
    printed = resumed.stdout.splitlines()
    assert len(printed) < len(whole.stdout.splitlines())
    assert whole.stdout.splitlines()[-len(printed) :] == printed


def test_a_replay_writes_over_nothing_that_an_attempt_has_saved(tmp_path: Path) -> None:
    expected = digest(run("callbacks_script.py", tmp_path, TIDEWHEEL_AUTOMATIC_STEPS="9"))
    other = tmp_path / "other"
    shutil.copytree(tmp_path / "checkpoints", other / "checkpoints")
    newest = other / "checkpoints" / steps(tmp_path)[1]
    shutil.rmtree(newest)
    saved = files_of(other / "checkpoints")
    resumed = run("callbacks_script.py", other)
    assert digest(resumed) == expected
    assert "restored after step 9: training goes on" in resumed.stderr
    # The save is within step 9, so that what it writes comes after.
    for step in range(1, 9):
        seen = files_of(other / f"seen-{step}")
        assert {name: seen.get(name) for name in saved} == saved
    # The steps after the checkpoint are made, and saved, once more; logs have their lines twice.
    for name, content in files_of(tmp_path / "checkpoints").items():
        ended = (other / "checkpoints" / name).read_bytes()
        assert content in ended if name.endswith((".txt", ".csv", ".log")) else content == ended
    assert (other / "checkpoints" / "losses.csv").read_text().count("\n") == 24 + 24 - 8
    assert (other / "checkpoints" / "late.txt").read_text().count("\n") == 24 + 24 - 8
    # Not in the folder, so it comes out of the checkpoint.
    assert files_of(other / "model") == files_of(tmp_path / "model")


def test_a_damaged_checkpoint_is_passed_over(tmp_path: Path) -> None:
    expected = digest(run("recurrent_script.py", tmp_path, TIDEWHEEL_AUTOMATIC_STEPS="9"))
    newest = tmp_path / "checkpoints" / steps(tmp_path)[-1] / "rank-0.pt"
    marker = json.loads((newest.parent / "COMPLETE.json").read_text())
    assert marker["files"]["rank-0.pt"]["bytes"] == newest.stat().st_size
    data = bytearray(newest.read_bytes())
    data[len(data) // 2] ^= 1
    newest.write_bytes(data)
    resumed = run("recurrent_script.py", tmp_path)
    assert "restored after step 9" in resumed.stderr
    assert digest(resumed) == expected


def test_a_script_that_takes_another_path_is_refused(tmp_path: Path) -> None:
    code = (
        "import os, torch\n"
        "model = torch.nn.Linear(2, 1)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "for step in range(6):\n"
        "    loss = model(torch.ones(1, 2)).sum()\n"
        "    loss.backward(); optimizer.step()\n"
        "    (loss.item if 'OTHER' in os.environ else loss.tolist)()\n"
    )
    (tmp_path / "script.py").write_text(code)
    script = str(tmp_path / "script.py")
    assert run(script, tmp_path, TIDEWHEEL_AUTOMATIC_STEPS="4").returncode == 0
    refused = run(script, tmp_path, OTHER="1")
    assert refused.returncode != 0
    assert "tidewheel: cannot resume this script" in refused.stderr
    assert "did not take the path of its first run: it asks for item" in refused.stderr


def test_a_graph_that_a_checkpoint_cut_is_an_error(tmp_path: Path) -> None:
    code = (
        "import torch\n"
        "model = torch.nn.Linear(2, 2)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "for step in range(3):\n"
        "    once, twice = model(torch.ones(2)).sum(), model(torch.ones(2)).sum().abs()\n"
        "    once.backward(); optimizer.step()\n"
        "    (twice + model.weight.sum()).backward(); optimizer.step()\n"
    )
    (tmp_path / "script.py").write_text(code)
    script = str(tmp_path / "script.py")
    assert run(script, tmp_path, TIDEWHEEL_AUTOMATIC_STEPS="5").returncode == 0
    refused = run(script, tmp_path)
    assert refused.returncode != 0
    assert "it was saved between two backward passes over one graph" in refused.stderr


def test_a_script_with_dropout_of_cudnn_is_not_saved(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import torch\n"
        "from tidewheel_automatic import hooks\n"
        "model = torch.nn.LSTM(2, 3, num_layers=2, dropout=0.5)\n"
        "hooks._draws_in_cudnn = lambda _args, options: True  # As on a GPU.\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "for step in range(6):\n"
        "    model(torch.ones(4, 1, 2))[0].sum().backward()\n"
        "    optimizer.step()\n"
        "print('trained')\n"
    )
    ended = run(str(tmp_path / "script.py"), tmp_path, TIDEWHEEL_AUTOMATIC_STEPS="2")
    assert ended.stdout == "trained\n"
    assert "no automatic checkpoints from step 0 on: cuDNN keeps" in ended.stderr
    assert steps(tmp_path) == []


def test_a_script_that_cannot_be_saved_trains_on(tmp_path: Path) -> None:
    code = (
        "import torch\n"
        "model = torch.nn.Linear(2, 1)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "for step in range(6):\n"
        "    loss = model(torch.ones(1, 2)).sum()\n"
        "    loss.backward(); optimizer.step()\n"
        "    if step == 3: torch.zeros(17 << 20).numpy()\n"
        "print('trained')\n"
    )
    (tmp_path / "script.py").write_text(code)
    ended = run(str(tmp_path / "script.py"), tmp_path, TIDEWHEEL_AUTOMATIC_STEPS="2")
    assert ended.stdout == "trained\n"
    reason = "no automatic checkpoints from step 4 on: the loop has read 68 MiB out of"
    assert reason in ended.stderr
    assert steps(tmp_path) == ["step-00000002", "step-00000004"]


def test_processes_that_train_do_not_share_checkpoints(tmp_path: Path) -> None:
    expected = digest(run("folds_script.py", tmp_path / "whole"))
    notes = tmp_path / "notes"
    notes.mkdir()
    folds = run(
        "folds_script.py",
        tmp_path,
        TMPDIR=str(tmp_path),
        TIDEWHEEL_SCRIPT_TOKEN="1",
        TIDEWHEEL_AUTOMATIC_STEPS="5",
        TIDEWHEEL_AUTOMATIC_TRIAL=str(notes),
        TIDEWHEEL_AUTOMATIC_VERDICT_SECONDS="0",
    )
    assert digest(folds) == expected
    assert "a second process of the script trains" in folds.stderr
    assert json.loads((notes / "stopped.json").read_text())["forGood"] is True


@pytest.mark.parametrize(
    ("work", "reason"),
    [
        ("computes", ""),
        ("reads", "a process that it forks in its loop reads tensors"),
        ("trains", "a second process of the script trains"),
        ("sends", "it sends tensors to another"),
        ("starts", "it starts Python in its loop"),
    ],
)
def test_processes_within_the_loop_leave_tensors_alone(
    work: str, reason: str, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    ended = run(
        "pool_script.py",
        tmp_path,
        WORK=work,
        TIDEWHEEL_AUTOMATIC_STEPS="2",
        TIDEWHEEL_AUTOMATIC_TRIAL=str(notes),
        TIDEWHEEL_AUTOMATIC_VERDICT_SECONDS="0",
    )
    assert ended.stdout.endswith("trained\n")
    assert (f"no automatic checkpoints from step 4 on: {reason}" in ended.stderr) is bool(reason)
    assert steps(tmp_path)[-1] == ("step-00000002" if reason else "step-00000006")
    stopped = notes / "stopped.json"
    is_for_good = stopped.exists() and json.loads(stopped.read_text()).get("forGood", False)
    assert is_for_good is (work == "trains")


def test_a_captured_graph_ends_the_checkpoints_of_its_warm_up(tmp_path: Path) -> None:
    code = (
        "import torch\n"
        "model = torch.nn.Linear(2, 1)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "for step in range(6):\n"
        "    model(torch.ones(1, 2)).sum().backward(); optimizer.step()\n"
        "    if step == 3:\n"
        "        try: torch.cuda.CUDAGraph.capture_begin(None)\n"
        "        except Exception: print('there is no GPU here')\n"
    )
    (tmp_path / "script.py").write_text(code)
    ended = run(str(tmp_path / "script.py"), tmp_path, TIDEWHEEL_AUTOMATIC_STEPS="2")
    assert ended.stdout == "there is no GPU here\n"
    reason = "no automatic checkpoints from step 4 on: the loop captures a CUDA graph"
    assert reason in ended.stderr
    assert steps(tmp_path) == []


def test_the_agent_saves_on_the_warning_and_resumes_elsewhere(tmp_path: Path) -> None:
    variables = {"TIDEWHEEL_MODEL": "", "OMP_NUM_THREADS": "1"}
    first, second = (automatic_host(tmp_path / name, "slow_script.py") for name in ("1", "2"))
    with running([first], **variables) as cluster:
        wait_until(lambda: "step 20 " in cluster.log(), 60, "step 20")
        cluster.signal_all(signal.SIGTERM)
        assert cluster.wait() == [143]
    saved = cluster.progress()["step"]
    assert saved >= 20
    shutil.copytree(first / "checkpoints", second / "checkpoints", dirs_exist_ok=True)
    with running([second], **variables) as cluster:
        assert cluster.wait() == [0]
    assert f"restored after step {saved}: training goes on" in cluster.log()
    alone = run("slow_script.py", tmp_path / "alone", TIDEWHEEL_AUTOMATIC_DIR="", PAUSE="0")
    assert digest(alone) in cluster.log()


def test_a_script_without_torch_runs_as_before(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import sys\nprint('torch' in sys.modules)\n")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("print('the image has one too')\n")
    path = os.pathsep.join([str(FOR_SCRIPTS), str(tmp_path / "site")])
    ended = run_cold(str(tmp_path / "script.py"), tmp_path, PYTHONPATH=path)
    assert ended.stdout.splitlines() == ["the image has one too", "False"]
