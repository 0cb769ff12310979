"""Where this host finds its job, its folders and AWS; differs between EC2 and a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .aws_cli import AwsCli
from .metadata import Metadata


@dataclass(frozen=True)
class HostContext:
    base: Path
    job_uri: str
    hosts_uri: str
    """Folder of the hosts' reports; its parent is the attempt's folder."""
    aws: AwsCli
    metadata: Metadata
    poll_seconds: float = 5.0
    """Time between two looks for requests and for EC2's notices."""
    sync_seconds: float = 15.0
    """Time between two uploads of checkpoints."""
    meet_seconds: float = 900.0
    """Limit for the other hosts to come, at the launch and when lost ones are replaced."""
    renew_seconds: float = 60.0
    """Time between two reports."""

    @property
    def attempt_uri(self) -> str:
        return self.hosts_uri.rstrip("/").rpartition("/")[0] + "/"


def host_context(environment: Mapping[str, str]) -> HostContext:
    def number(name: str, default: float) -> float:
        return float(environment.get(name) or default)

    return HostContext(
        base=Path(environment.get("SAGEMAKER_BASE_DIR") or "/opt/ml"),
        job_uri=environment["TIDEWHEEL_JOB_URI"],
        hosts_uri=environment["TIDEWHEEL_HOSTS_URI"],
        aws=AwsCli(environment.get("TIDEWHEEL_AWS_PROGRAM") or "aws"),
        metadata=Metadata(environment.get("TIDEWHEEL_METADATA_URL") or "http://169.254.169.254"),
        poll_seconds=number("TIDEWHEEL_LOOK_SECONDS", 5),
        sync_seconds=number("TIDEWHEEL_SYNC_SECONDS", 15),
        meet_seconds=number("TIDEWHEEL_MEET_SECONDS", 900),
        renew_seconds=number("TIDEWHEEL_RENEW_SECONDS", 60),
    )
