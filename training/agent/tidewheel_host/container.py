"""The folders and files of a training container, from job.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .aws_cli import Cloud, split_uri

VERSION = 1


class UnknownJobError(Exception):
    """job.json is of a version that this program does not know."""


@dataclass(frozen=True)
class HostJob:
    """What a host needs of job.json; the rest is passed on as it is."""

    name: str
    nodes: int
    instance_type: str
    region: str
    maximum_run_seconds: int
    checkpoint_uri: str
    output_uri: str
    channels: list[dict[str, Any]]
    hyperparameters: dict[str, str]
    environment: dict[str, str]
    refills: bool = False
    """Lost hosts are replaced, and the others stay."""
    log_group: str = ""


def parse_job(text: str) -> HostJob:
    said = json.loads(text)
    if said.get("version") != VERSION:
        raise UnknownJobError(
            f"job.json has version {said.get('version')}, this host knows {VERSION}"
        )
    return HostJob(
        name=said["TrainingJobName"],
        nodes=int(said["nodes"]),
        instance_type=said["instanceType"],
        region=said["region"],
        maximum_run_seconds=int(said["maximumRunSeconds"]),
        checkpoint_uri=said["CheckpointConfig"]["S3Uri"],
        output_uri=said["OutputDataConfig"]["S3OutputPath"],
        channels=said["InputDataConfig"],
        hyperparameters=said["HyperParameters"],
        environment=said["Environment"],
        refills=bool(said.get("refills", False)),
        log_group=str(said.get("logGroup") or ""),
    )


def write_config(
    base: Path, job: HostJob, hosts: list[str], current: str, interface: str, number: int = 1
) -> None:
    """The files of /opt/ml/input/config. Addresses serve as host names: they need no resolving.

    `number`: of the round, which tells agents of an earlier one from those of this.
    """
    config = base / "input" / "config"
    config.mkdir(parents=True, exist_ok=True)
    group = {
        "instance_group_name": "homogeneousCluster",
        "instance_type": job.instance_type,
        "hosts": hosts,
    }
    files: dict[str, Any] = {
        "resourceconfig.json": {
            "current_host": current,
            "current_instance_type": job.instance_type,
            "current_group_name": "homogeneousCluster",
            "hosts": hosts,
            "instance_groups": [group],
            "network_interface_name": interface,
        },
        "hyperparameters.json": {
            **job.hyperparameters,
            **({"tidewheel_round": str(number)} if number > 1 else {}),
        },
        "inputdataconfig.json": {
            channel["ChannelName"]: {
                "TrainingInputMode": "File",
                "S3DistributionType": _source(channel)["S3DataDistributionType"],
                "RecordWrapperType": "None",
            }
            for channel in job.channels
        },
        "checkpointconfig.json": {"LocalPath": "/opt/ml/checkpoints"},
    }
    for name, content in files.items():
        (config / name).write_text(json.dumps(content), encoding="utf-8")
    for folder in ("model", "output/data", "checkpoints"):
        (base / folder).mkdir(parents=True, exist_ok=True)


def _source(channel: dict[str, Any]) -> dict[str, str]:
    source: dict[str, str] = channel["DataSource"]["S3DataSource"]
    return source


def fetch_channels(cloud: Cloud, base: Path, job: HostJob, rank: int) -> None:
    """Every channel but the agent's, which the user data has brought already."""
    for channel in job.channels:
        name = str(channel["ChannelName"])
        if name != "agent":
            _fetch(cloud, base / "input" / "data" / name, _source(channel), rank, job.nodes)


def _fetch(cloud: Cloud, folder: Path, source: dict[str, str], rank: int, nodes: int) -> None:
    prefix = source["S3Uri"]
    sharded = source["S3DataDistributionType"] == "ShardedByS3Key" and nodes > 1
    if source["S3DataType"] == "ManifestFile":
        first, *listed = json.loads(cloud.read(prefix))
        prefix, keys = str(first["prefix"]), sorted(str(key) for key in listed)
    elif sharded:
        keys = cloud.keys(prefix)
    else:
        cloud.copy_down(prefix, folder)
        return
    # As on SageMaker: every host gets its share of the objects, whatever their size.
    cloud.copy_keys_down(prefix, keys[rank::nodes] if sharded else keys, folder)


def model_uri(job: HostJob) -> str:
    """Where SageMaker would put it, so that nothing after training knows the difference."""
    bucket, key = split_uri(job.output_uri)
    return f"s3://{bucket}/{key.rstrip('/')}/{job.name}/output/model.tar.gz"
