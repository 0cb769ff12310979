"""Jobs of which AWS's toolkit says what their scripts get: by strategy, on one host and on two.

`python tests/support/toolkit_cases.py` records it again, for tests that do not have the toolkit.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from heavy import python_over_torch
from sagemaker_host import make_host

RECORDED = Path(__file__).with_name("toolkit-says.json")
ORACLE = Path(__file__).with_name("toolkit_oracle.py")
SENT: dict[str, Any] = {
    "sagemaker_program": "train.py",
    "sagemaker_submit_directory": "s3://b/x/sourcedir.tar.gz",
    "sagemaker_container_log_level": 20,
    "sagemaker_job_name": "job-1",
    "sagemaker_region": "us-east-1",
}
HYPERPARAMETERS: dict[str, Any] = {
    "epochs": 3,
    "lr": 0.1,
    "tiny": 1e-05,
    "whole": 1.0,
    "huge": 10**20,
    "b": True,
    "off": False,
    "nothing": None,
    "layers": [1, "two", 3.5, None, True],
    "opts": {"z": 1, "a": "x y", "deep": {"b": [1]}},
    "batch-size": 64,
    "text": "a b; c",
    "quoted": 'say "it"',
    "umlaut": "grün",
    "empty": "",
    "x": 1,
    "Upper": "U",
}
HOSTS = ["127.0.0.2", "127.0.0.3"]
STRATEGIES: dict[str, dict[str, Any]] = {
    "plain": {},
    "torchrun": {"sagemaker_torch_distributed_enabled": True},
    "mpi": {
        "sagemaker_mpi_enabled": True,
        "sagemaker_mpi_num_of_processes_per_host": 2,
        "sagemaker_mpi_custom_mpi_options": "-x A=1",
    },
    "parameter-server": {"sagemaker_parameter_server_enabled": True},
    "multi-worker-mirrored": {"sagemaker_multi_worker_mirrored_strategy_enabled": True},
}
GROUPS = [
    {
        "instance_group_name": "cpu",
        "instance_type": "ml.c5.large",
        "hosts": ["127.0.0.3", "127.0.0.1"],
    },
    {"instance_group_name": "gpu", "instance_type": "ml.g5.xlarge", "hosts": ["127.0.0.2"]},
]


def _cases() -> dict[str, dict[str, Any]]:
    cases: dict[str, dict[str, Any]] = {
        f"{strategy}, {host} of {len(hosts)}": {
            "host": host,
            "hosts": hosts,
            "hyperparameters": {**SENT, **(more or HYPERPARAMETERS)},
        }
        for strategy, more in STRATEGIES.items()
        for hosts in (HOSTS[:1], HOSTS)
        for host in hosts
    }
    for host in ("127.0.0.1", "127.0.0.2"):
        cases[f"groups, {host}"] = {
            "host": host,
            "hosts": ["127.0.0.1", "127.0.0.2", "127.0.0.3"],
            "groups": GROUPS,
            "hyperparameters": {
                **SENT,
                **STRATEGIES["torchrun"],
                "sagemaker_distribution_instance_groups": ["gpu"],
                "x": 1,
            },
        }
    return cases


CASES = _cases()


def host_of(case: str, base: Path) -> Path:
    folder = base.parent / "data"
    folder.mkdir(parents=True, exist_ok=True)
    return make_host(base, channels={"train": folder, "my-data": folder}, **CASES[case])


def reported(case: str, base: Path) -> dict[str, Any]:
    """By the toolkit; BASE for the folder."""
    answer = subprocess.run(
        [str(python_over_torch("toolkit")), str(ORACLE), "tell"],
        env={"PATH": os.environ["PATH"], "SAGEMAKER_BASE_DIR": str(host_of(case, base))},
        check=True,
        capture_output=True,
        text=True,
    )
    text = answer.stdout.strip().splitlines()[-1]
    said: dict[str, Any] = json.loads(text.replace(str(base), "BASE"))
    return said


def _record() -> None:
    with tempfile.TemporaryDirectory() as folder:
        said = {
            case: reported(case, Path(folder, str(number), "ml"))
            for number, case in enumerate(CASES)
        }
    RECORDED.write_text(json.dumps(said, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    _record()
