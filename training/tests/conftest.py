"""Folders laid out as SageMaker lays out a host, and shards made of the shipped digits."""

from __future__ import annotations

import csv
import gzip
import io
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

TRAINING = Path(__file__).resolve().parent.parent
AGENT = TRAINING / "agent"
RECIPE = TRAINING / "recipes" / "ddp"
DIGITS = TRAINING / "data" / "digits" / "digits.csv.gz"


def make_host(
    base: Path,
    *,
    host: str = "127.0.0.1",
    hosts: Sequence[str] = ("127.0.0.1",),
    hyperparameters: dict[str, Any] | None = None,
    checkpoints: bool = True,
    source: Path | None = None,
    channels: dict[str, Path] | None = None,
    groups: list[dict[str, Any]] | None = None,
) -> Path:
    """A base folder as /opt/ml; hyperparameters are JSON-encoded as the SDK does."""
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


def write_shards(folder: Path, shards: int, generation: str = "digits-000001") -> Path:
    """The shipped digits as WebDataset shards, the way the packer writes them."""
    from PIL import Image

    target = folder / generation / "shards"
    target.mkdir(parents=True)
    with gzip.open(DIGITS, "rt") as file:
        rows = [[int(value) for value in row] for row in csv.reader(file)]
    for number in range(shards):
        with tarfile.open(target / f"{number:06d}.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
            for index, row in list(enumerate(rows))[number::shards]:
                key = f"{row[64]}/{index:04d}"
                image = Image.frombytes("L", (8, 8), bytes(round(v * 255 / 16) for v in row[:64]))
                buffer = io.BytesIO()
                image.save(buffer, "PNG")
                for suffix, content in (("cls", str(row[64]).encode()), ("png", buffer.getvalue())):
                    member = tarfile.TarInfo(f"{key}.{suffix}")
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))
    return folder


@pytest.fixture(scope="session")
def digit_shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_shards(tmp_path_factory.mktemp("dataset"), 4)
