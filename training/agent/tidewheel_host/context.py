"""Where this host finds its job, its folders and AWS: on EC2 from the instance metadata service."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .aws_cli import AwsCli

_TOKEN_SECONDS = 21_600


class Metadata:
    """https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html"""

    def __init__(self, url: str = "http://169.254.169.254", timeout_seconds: float = 2.0) -> None:
        self._url = url
        self._timeout_seconds = timeout_seconds
        self._token = ""
        self._token_until = 0.0

    def _ask(self, path: str, method: str = "GET", **headers: str) -> str:
        request = urllib.request.Request(f"{self._url}/latest/{path}", method=method)
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        with urllib.request.urlopen(request, timeout=self._timeout_seconds) as answer:
            return str(answer.read().decode())

    def get(self, path: str) -> str | None:
        """None when the path has no value; raises OSError when the service does not answer."""
        return self._get(f"meta-data/{path}")

    def launched_at(self) -> str | None:
        """When EC2 launched this instance; None when the service does not say."""
        try:
            document = self._get("dynamic/instance-identity/document")
            return None if document is None else str(json.loads(document)["pendingTime"])
        except (OSError, ValueError, KeyError):
            return None

    def _get(self, path: str) -> str | None:
        if time.monotonic() > self._token_until:
            ttl = str(_TOKEN_SECONDS)
            self._token = self._ask("api/token", "PUT", X_aws_ec2_metadata_token_ttl_seconds=ttl)
            self._token_until = time.monotonic() + _TOKEN_SECONDS / 2
        try:
            return self._ask(path, X_aws_ec2_metadata_token=self._token)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            if error.code == 401:
                self._token_until = 0.0
            raise

    def has_interruption_notice(self) -> bool:
        """Whether EC2 has announced the interruption. No answer counts as no notice."""
        return self._has("spot/instance-action")

    def has_rebalance_recommendation(self) -> bool:
        """Whether EC2 reports an elevated risk of interruption. No answer counts as none."""
        return self._has("events/recommendations/rebalance")

    def _has(self, path: str) -> bool:
        try:
            return self.get(path) is not None
        except OSError:
            return False


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
