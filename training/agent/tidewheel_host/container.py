"""Makes the host look like a training container, from the job document job.json."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .aws_cli import AwsCli, split_uri

VERSION = 1


class UnknownJobError(Exception):
    """job.json has a version that this program does not know."""


@dataclass(frozen=True)
class HostJob:
    """The parts of job.json that a host uses."""

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
    """The service replaces lost hosts while the others stay."""
    log_group: str = ""
    download_bytes: int | None = None
    """Of the shards that this host fetches."""


def parse_job(text: str) -> HostJob:
    document = json.loads(text)
    if document.get("version") != VERSION:
        raise UnknownJobError(
            f"job.json has version {document.get('version')}, this host knows {VERSION}: "
            "start the run again with one version of Tidewheel"
        )
    return HostJob(
        name=document["TrainingJobName"],
        nodes=int(document["nodes"]),
        instance_type=document["instanceType"],
        region=document["region"],
        maximum_run_seconds=int(document["maximumRunSeconds"]),
        checkpoint_uri=document["CheckpointConfig"]["S3Uri"],
        output_uri=document["OutputDataConfig"]["S3OutputPath"],
        channels=document["InputDataConfig"],
        hyperparameters=document["HyperParameters"],
        environment=document["Environment"],
        refills=bool(document.get("refills", False)),
        log_group=str(document.get("logGroup") or ""),
        download_bytes=document.get("downloadBytes"),
    )


def write_config(
    base: Path,
    job: HostJob,
    hosts: list[str],
    current_host: str,
    interface: str,
    round_number: int = 1,
) -> None:
    """Writes the files of /opt/ml/input/config. Addresses serve as host names: none must resolve.

    Agents tell the agents of an earlier round from their own by `round_number`.
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
            "current_host": current_host,
            "current_instance_type": job.instance_type,
            "current_group_name": "homogeneousCluster",
            "hosts": hosts,
            "instance_groups": [group],
            "network_interface_name": interface,
        },
        "hyperparameters.json": {
            **job.hyperparameters,
            **({"tidewheel_round": str(round_number)} if round_number > 1 else {}),
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


def fetch_channels(aws: AwsCli, base: Path, job: HostJob, rank: int) -> None:
    """Fetches every channel except the agent's, which the user data has fetched already."""
    for channel in job.channels:
        name = str(channel["ChannelName"])
        if name != "agent":
            _fetch(aws, base / "input" / "data" / name, _source(channel), rank, job.nodes)


def _fetch(aws: AwsCli, folder: Path, source: dict[str, str], rank: int, nodes: int) -> None:
    prefix = source["S3Uri"]
    sharded = source["S3DataDistributionType"] == "ShardedByS3Key" and nodes > 1
    if source["S3DataType"] == "ManifestFile":
        first, *listed = json.loads(aws.read(prefix))
        prefix, keys = str(first["prefix"]), sorted(str(key) for key in listed)
    elif sharded:
        keys = aws.keys(prefix)
    else:
        aws.copy_down(prefix, folder)
        return
    # As on SageMaker every host gets an equal number of objects, whatever their size.
    aws.copy_keys_down(prefix, keys[rank::nodes] if sharded else keys, folder)


def model_uri(job: HostJob) -> str:
    """The model's URI as SageMaker chooses it, so that later steps need not know the launcher."""
    bucket, key = split_uri(job.output_uri)
    return f"s3://{bucket}/{key.rstrip('/')}/{job.name}/output/model.tar.gz"
