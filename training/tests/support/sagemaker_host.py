"""A folder laid out as SageMaker lays out a host's /opt/ml."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def make_host(
    base: Path,
    *,
    host: str = "127.0.0.1",
    hosts: Sequence[str] = ("127.0.0.1",),
    hyperparameters: dict[str, Any] | None = None,
    checkpoints: bool = True,
    source: Path | None = None,
    script: str | None = None,
    channels: dict[str, Path] | None = None,
    groups: list[dict[str, Any]] | None = None,
) -> Path:
    """Makes a folder laid out as /opt/ml, with hyperparameters encoded as SageMaker's SDK does.
    `script` becomes `train.py` in a source folder beside it, and the program."""
    if script is not None:
        source = base.parent / "source"
        source.mkdir(parents=True, exist_ok=True)
        (source / "train.py").write_text(script)
        hyperparameters = {"sagemaker_program": "train.py", **(hyperparameters or {})}
    config = base / "input" / "config"
    config.mkdir(parents=True)
    group = next((g for g in groups or [] if host in g["hosts"]), None)
    resource = {
        "current_host": host,
        "current_instance_type": group["instance_type"] if group else "ml.c5.large",
        "current_group_name": group["instance_group_name"] if group else "homogeneousCluster",
        "hosts": list(hosts),
        "instance_groups": groups
        or [
            {
                "instance_group_name": "homogeneousCluster",
                "instance_type": "ml.c5.large",
                "hosts": list(hosts),
            }
        ],
        "network_interface_name": "lo",
    }
    (config / "resourceconfig.json").write_text(json.dumps(resource))
    encoded = {key: json.dumps(value) for key, value in (hyperparameters or {}).items()}
    (config / "hyperparameters.json").write_text(json.dumps(encoded))
    data = base / "input" / "data"
    data.mkdir()
    links = dict(channels or {})
    if source:
        links["code"] = source
    described = {}
    for name, folder in links.items():
        (data / name).symlink_to(folder)
        described[name] = {
            "TrainingInputMode": "File",
            "S3DistributionType": "FullyReplicated",
            "RecordWrapperType": "None",
        }
    (config / "inputdataconfig.json").write_text(json.dumps(described))
    if checkpoints:
        (base / "checkpoints").mkdir()
        (config / "checkpointconfig.json").write_text('{"LocalPath": "/opt/ml/checkpoints"}')
    return base


def make_hosts(
    folder: Path, hosts: Sequence[str], script: str, hyperparameters: dict[str, Any]
) -> list[Path]:
    """A host's folder for each name; all run `script`, as `train.py`."""
    source = folder / "source"
    source.mkdir()
    (source / "train.py").write_text(script)
    given = {"sagemaker_program": "train.py", **hyperparameters}
    return [
        make_host(folder / host, host=host, hosts=hosts, source=source, hyperparameters=given)
        for host in hosts
    ]
