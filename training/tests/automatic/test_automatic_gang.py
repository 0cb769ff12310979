"""DDP scripts that save nothing, resumed by the hooks: real ranks.

Two hosts under the agent, one of them killed, and optimizers in parts, a minute:
`pytest -m heavy tests/automatic/test_automatic_gang.py`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from automatic_runs import SCRIPTS, automatic_host
from cluster import running
from hosts import TRAINING, free_ports
from warm_python import REPLAYS, warm_torch

HOOKS = TRAINING / "automatic"
FOR_SCRIPTS = TRAINING / "agent" / "for_scripts"
HOSTS = ("127.0.0.2", "127.0.0.3")
pytestmark = pytest.mark.slow


def run(folder: Path, ranks: int = 2, *, program: str = "ddp_script.py", **variables: str) -> str:
    """On one host; returns what the ranks printed. They share the import of PyTorch."""
    folder.mkdir(exist_ok=True)
    stub = folder / "stub.py"
    stub.write_text(warm_torch(*REPLAYS).stub(SCRIPTS / program))
    launcher = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}"]
    ended = subprocess.run(
        [*launcher, f"--master-port={free_ports(1)}", str(stub)],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(HOOKS), str(FOR_SCRIPTS)]),
            "OMP_NUM_THREADS": "1",
            "TIDEWHEEL_AUTOMATIC_DIR": str(folder / "checkpoints"),
            **variables,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=150,
    )
    # PyTorch's threads may abort a process whose script has ended: docs/training.md, "Exit codes".
    ended_before = ended.stdout.count("digest ") == 2
    aborted = ended_before and "terminate called without an active exception" in ended.stdout
    assert ended.returncode == 0 or aborted, ended.stdout
    return ended.stdout


def digests(text: str) -> list[str]:
    """Of the weights, and of what the first rank's generator gives next."""
    found = [line for line in text.splitlines() if line.startswith("digest ")]
    assert len(found) == 2
    return found


def test_ranks_resume_together_from_the_last_step_that_all_have_whole(tmp_path: Path) -> None:
    # The sum of three numbers depends on their order.
    first = run(tmp_path / "first", 3, EPOCHS="8", TIDEWHEEL_AUTOMATIC_STEPS="7")
    expected = digests(first)
    checkpoints = tmp_path / "first" / "checkpoints"
    steps = sorted(path.name for path in checkpoints.iterdir())
    assert steps == ["step-00000021", "step-00000028"]
    sizes = [(checkpoints / steps[1] / f"rank-{rank}.pt").stat().st_size for rank in (0, 1)]
    # The weights and the optimizer's state are in the first rank's file alone.
    assert sizes[1] < 0.9 * sizes[0]
    # Only one of the ranks sees this damage.
    newest = checkpoints / steps[1] / "rank-1.pt"
    data = bytearray(newest.read_bytes())
    data[len(data) // 2] ^= 1
    newest.write_bytes(data)
    shutil.copytree(checkpoints, tmp_path / "other" / "checkpoints")
    resumed = run(tmp_path / "other", 3, EPOCHS="8")
    assert resumed.count("tidewheel: restored after step 21") == 3
    assert "rank 1 loss" in resumed
    assert digests(resumed) == expected


@pytest.mark.parametrize(
    "spread_by",
    ["fully_shard", pytest.param("FullyShardedDataParallel", marks=pytest.mark.heavy)],
)
def test_weights_spread_over_ranks_are_not_saved(spread_by: str, tmp_path: Path) -> None:
    said = run(
        tmp_path, program="spread_script.py", SPREAD_BY=spread_by, TIDEWHEEL_AUTOMATIC_STEPS="2"
    )
    assert said.count("no automatic checkpoints from step 2 on: its weights are spread") == 2
    assert not (tmp_path / "checkpoints").exists()


@pytest.mark.heavy
def test_ranks_with_a_part_of_the_optimizer_each_resume(tmp_path: Path) -> None:
    kind = "ZeroRedundancyOptimizer"
    train = partial(run, tmp_path, program="spread_script.py", SPREAD_BY=kind)
    first = train(TIDEWHEEL_AUTOMATIC_STEPS="4")
    resumed = train()
    assert resumed.count("tidewheel: restored after step 8") == 2
    assert digests(resumed) == digests(first)


def hosts(folder: Path) -> list[Path]:
    return [
        automatic_host(folder / host, "ddp_script.py", "ddp", host=host, hosts=HOSTS)
        for host in HOSTS
    ]


@pytest.mark.heavy
@pytest.mark.parametrize("lost", [0, 1])
def test_hosts_resume_after_one_of_them_was_killed(lost: int, tmp_path: Path) -> None:
    variables = {
        "OMP_NUM_THREADS": "1",
        "TIDEWHEEL_MODEL": "",
        "TIDEWHEEL_CHECKPOINT_SECONDS": "0.5",
        "EPOCHS": "20",
        # A trial beside other work takes its time.
        "PAUSE": "1",
    }
    first = hosts(tmp_path / "first")
    with running(first, **variables) as cluster:
        cluster.await_step(20, 120)
        cluster.lose_host(lost)
        cluster.wait()
    # Each host uploads its own files below one prefix, and each later host gets them all.
    second = hosts(tmp_path / "second")
    for new in second:
        for old in first:
            shutil.copytree(old / "checkpoints", new / "checkpoints", dirs_exist_ok=True)
    with running(second, **{**variables, "PAUSE": "0"}) as cluster:
        assert cluster.wait(170) == [0, 0], cluster.log()
    whole = run(tmp_path / "whole", EPOCHS="20", TIDEWHEEL_AUTOMATIC_DIR="")
    assert "training goes on" in cluster.log(0)
    assert "training goes on" in cluster.log(1)
    assert digests(cluster.log())[0] == digests(whole)[0]
