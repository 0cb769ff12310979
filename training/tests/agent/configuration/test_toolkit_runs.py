"""Scripts under AWS's own toolkit and under the agent: what they see, and how their ends count."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cluster import running
from heavy import python_over_torch
from sagemaker_host import make_host
from toolkit_cases import HOSTS, HYPERPARAMETERS, ORACLE, STRATEGIES

pytestmark = pytest.mark.heavy

SEES = """
import json, os, sys
PLACES = ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK"]
# torchrun alone on a host takes localhost; the agent names the host.
PLACES += ["MASTER_ADDR"] if os.environ.get("WORLD_SIZE") == "2" else []
names = [name for name in os.environ if name.startswith("SM_") or name in PLACES]
seen = {name: os.environ[name] for name in names}
seen["arguments"], seen["folder"] = sys.argv[1:], os.getcwd()
seen["program"] = os.path.basename(sys.argv[0])
rank, folder = os.environ.get("RANK", 0), os.environ["SM_OUTPUT_DATA_DIR"]
with open(os.path.join(folder, f"{rank}.json"), "w") as file:
    json.dump(seen, file)
"""
OWN_REASON = "open(os.environ['SM_OUTPUT_DIR'] + '/failure', 'w').write('mine'); sys.exit(1)"
UNEQUAL = {"SM_MODULE_DIR", "SM_TRAINING_ENV", "SM_FRAMEWORK_PARAMS"}
"""Where the source lies, and with which of the toolkit's own parameters it was sent."""


def hosts_of(folder: Path, script: str, hosts: list[str], more: dict[str, Any]) -> list[Path]:
    source = folder / "source"
    source.mkdir(parents=True)
    (source / "train.py").write_text("import os, sys\n" + script)
    given = {
        "sagemaker_program": "train.py",
        "sagemaker_submit_directory": str(source),
        "sagemaker_job_name": "job",
        **HYPERPARAMETERS,
        **more,
    }
    places: dict[str, Any] = {"source": source, "hyperparameters": given}
    places["channels"] = {"train": folder}
    return [make_host(folder / host, host=host, hosts=hosts, **places) for host in hosts]


def under_toolkit(bases: list[Path]) -> list[int]:
    python = python_over_torch("toolkit")
    for base in bases:
        (base / "output" / "data").mkdir(parents=True)
    logs = [(base / "log").open("wb") for base in bases]
    started = [
        subprocess.Popen(
            [str(python), str(ORACLE), "train"],
            cwd=ORACLE.parent,
            env={
                # torchrun lies beside the Python that has PyTorch.
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
                "SAGEMAKER_BASE_DIR": str(base),
                "SAGEMAKER_TRAINING_MODULE": "toolkit_oracle:start",
                "PYTHONPATH": str(ORACLE.parent),
            },
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        for base, log in zip(bases, logs, strict=True)
    ]
    return [each.wait(180) for each in started]


def under_agent(bases: list[Path]) -> list[int]:
    same = {
        "SAGEMAKER_TRAINING_MODULE": "toolkit_oracle:start",
        "TIDEWHEEL_CPUS": str(os.cpu_count()),
    }
    with running(bases, **same) as cluster:
        codes: list[int] = cluster.wait(120)
        return codes


def seen_on(bases: list[Path]) -> list[dict[str, Any]]:
    """By rank. BASE stands for the host's folder."""
    seen: dict[str, dict[str, Any]] = {}
    for base in bases:
        for file in (base / "output" / "data").glob("?.json"):
            text = file.read_text().replace(str(base), "BASE")
            seen[file.name] = {k: v for k, v in json.loads(text).items() if k not in UNEQUAL}
    return [seen[name] for name in sorted(seen)]


@pytest.mark.parametrize(
    ("strategy", "hosts"), [("plain", HOSTS[:1]), ("torchrun", HOSTS[:1]), ("torchrun", HOSTS)]
)
def test_scripts_see_the_same(strategy: str, hosts: list[str], tmp_path: Path) -> None:
    more = STRATEGIES[strategy]
    theirs = hosts_of(tmp_path / "theirs", SEES, hosts, more)
    ours = hosts_of(tmp_path / "ours", SEES, hosts, more)
    assert under_toolkit(theirs) == under_agent(ours) == [0] * len(hosts)
    expected = seen_on(theirs)
    assert len(expected) == len(hosts)
    for mine, other in zip(seen_on(ours), expected, strict=True):
        assert {k: (mine.get(k), v) for k, v in other.items() if mine.get(k) != v} == {}
        assert set(mine) == set(other)


@pytest.mark.parametrize(
    ("script", "named"),
    [
        ("raise ValueError('boom')", "ValueError: boom"),
        ("sys.exit(3)", "3"),
        ("os.kill(os.getpid(), 11)", ""),
        (OWN_REASON, "mine"),
    ],
)
def test_a_failed_script_fails_with_its_reason(script: str, named: str, tmp_path: Path) -> None:
    reasons = []
    for name, train in (("theirs", under_toolkit), ("ours", under_agent)):
        (base,) = hosts_of(tmp_path / name, script, HOSTS[:1], {})
        assert train([base]) != [0]
        reasons.append((base / "output" / "failure").read_text())
    assert all(named in reason for reason in reasons)
    if named == "mine":
        assert reasons == ["mine", "mine"]
