"""Declared arguments and commands reach every rank as typed, through each strategy's launcher.

Torchrun replaces `$` in arguments, and mpiexec reads a lone `:` as a program of its own.
With Ray, a minute: `pytest -m heavy tests/agent/strategies/test_declared_arguments.py`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cluster import running
from heavy import python_of
from sagemaker_host import make_host

HOSTS = ("127.0.0.2", "127.0.0.3")
SHOW = """
import json, os, sys
got = [sys.argv[1:], os.environ["TEXT"], os.getcwd()]
folder = os.environ["TIDEWHEEL_CHECKPOINT_DIR"]
rank = os.environ.get("RANK") or os.environ.get("TIDEWHEEL_RANK") or "0"
with open(os.path.join(folder, f"rank-{rank}.json"), "w") as file:
    json.dump(got, file)
open(os.path.join(os.environ["SM_MODEL_DIR"], "model"), "w").close()
"""
TYPED = [
    *["fit", "--amp", "--lr=0.0", "-n", "1", "--", "--nproc-per-node=7", ":", "-", ""],
    *[
        "$(touch mark)",
        "; touch mark #",
        "a\nb",
        "' \" \\ * ~ %s",
        "$HOME $$PATH $$$$ ${local_rank}",
    ],
    *["é 漢字 \U0001f600", "${rank}", "@file"],
]


def hosts_of(
    folder: Path, strategy: str, script: dict[str, Any], hosts: Sequence[str]
) -> list[Path]:
    source = folder / "source"
    source.mkdir()
    (source / "train.py").write_text(SHOW)
    parameters = {
        "tidewheel_script": json.dumps(script),
        "tidewheel_strategy": strategy,
        "tidewheel_processes_per_host": 2,
    }
    if "command" not in script:
        parameters["sagemaker_program"] = "train.py"
    return [
        make_host(folder / host, host=host, hosts=hosts, source=source, hyperparameters=parameters)
        for host in hosts
    ]


def seen_by_ranks(bases: Sequence[Path]) -> dict[str, Any]:
    files = [path for base in bases for path in (base / "checkpoints").glob("rank-*.json")]
    return {path.stem: json.loads(path.read_text()) for path in files}


def escaped(texts: Sequence[str]) -> list[str]:
    return [text.replace("$", "$$") for text in texts]


def script_of(start: str) -> dict[str, Any]:
    arguments = ["${checkpoints}", "--from=${checkpoints}/none.pt?", *escaped(TYPED)]
    by_command = {"command": ["python", "train.py"]} if start == "command" else {}
    return {**by_command, "arguments": arguments, "environment": {"TEXT": escaped(TYPED)[-4]}}


def check(bases: Sequence[Path], ranks: int, hosts: int) -> None:
    seen = seen_by_ranks(bases)
    assert sorted(seen) == [f"rank-{rank}" for rank in range(ranks)]
    for rank in range(ranks):
        base = bases[rank * hosts // ranks]
        arguments, text, folder = seen[f"rank-{rank}"]
        assert arguments == [str(base / "checkpoints"), *TYPED]
        assert text == TYPED[-4]
        assert folder == str(base / "code")
        assert not (base / "code" / "mark").exists()


@pytest.mark.slow
def test_torchrun_passes_them_to_every_rank(tmp_path: Path) -> None:
    bases = hosts_of(tmp_path, "ddp", script_of("script"), HOSTS[:1])
    with running(bases) as cluster:
        assert cluster.wait(60) == [0], cluster.log()
    check(bases, ranks=2, hosts=1)


@pytest.mark.slow
def test_mpiexec_passes_them_to_every_host(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    bases = hosts_of(tmp_path, "mpi", script_of("command"), HOSTS)
    with running(bases) as cluster:
        assert cluster.wait(60) == [0, 0], cluster.log()
    check(bases, ranks=4, hosts=2)


@pytest.mark.heavy
@pytest.mark.timeout(600)
@pytest.mark.parametrize("start", ["script", "command"])
def test_ray_passes_them_to_the_driver(tmp_path: Path, start: str) -> None:
    bases = hosts_of(tmp_path, "ray", script_of(start), HOSTS[:1])
    with running(bases, AGENT_PYTHON=str(python_of("ray", "ray"))) as cluster:
        assert cluster.wait(400) == [0], cluster.log()
    check(bases, ranks=1, hosts=1)
