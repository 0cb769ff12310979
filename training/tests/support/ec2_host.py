"""An EC2 host as a real process, started as the user data starts it; S3 is a folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from hosts import agent_file, free_ports


def _fake_aws() -> Path:
    """fake_aws.py for a Python without site-packages: a host starts it a hundred times."""
    program = Path(tempfile.mkdtemp()) / "aws"
    text = (Path(__file__).parent / "fake_aws.py").read_text()
    program.write_text(f"#!{sys.executable} -IS\n{text}")
    program.chmod(0o755)
    return program


FAKE_AWS = _fake_aws()


class Imds(BaseHTTPRequestHandler):
    """Version 2 of the metadata service, which answers nothing without a token."""

    answers: ClassVar[dict[str, str]] = {}

    def do_PUT(self) -> None:
        self._reply(200, "token-1")

    def do_GET(self) -> None:
        if self.headers.get("X-aws-ec2-metadata-token") != "token-1":
            self._reply(401, "")
            return
        found = self.answers.get(self.path.removeprefix("/latest/meta-data/"))
        self._reply(200 if found else 404, found or "")

    def _reply(self, status: int, text: str) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def metadata_service(instance_id: str, address: str) -> Iterator[tuple[str, dict[str, str]]]:
    answers = {"instance-id": instance_id, "local-ipv4": address}
    handler = type("Handler", (Imds,), {"answers": answers})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", answers
        server.shutdown()


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def channel(name: str, uri: str, **over: str) -> dict[str, Any]:
    source = {"S3DataType": "S3Prefix", "S3DataDistributionType": "FullyReplicated", "S3Uri": uri}
    return {"ChannelName": name, "DataSource": {"S3DataSource": {**source, **over}}}


def job(**over: object) -> dict[str, Any]:
    return {
        "version": 1,
        "TrainingJobName": "digits-000001-a1-abcdef",
        "nodes": 1,
        "instanceType": "ml.c5.xlarge",
        "region": "us-east-1",
        "maximumRunSeconds": 600,
        "CheckpointConfig": {"S3Uri": "s3://b/run/checkpoints/"},
        "OutputDataConfig": {"S3OutputPath": "s3://b/run/models/"},
        "InputDataConfig": [
            channel("train", "s3://b/shards/"),
            channel("code", "s3://b/code/"),
            channel("agent", "s3://b/agent/"),
        ],
        "HyperParameters": {
            "sagemaker_program": '"train.py"',
            "tidewheel_strategy": '"single"',
            "tidewheel_run_id": '"digits-000001"',
        },
        "Environment": {"TIDEWHEEL_SPOT": "1"},
        **over,
    }


class Host:
    """One attempt on one host, started as the user data starts it."""

    def __init__(
        self,
        base: Path,
        bucket: Path,
        url: str,
        job_text: str,
        folder: str = "attempts/1",
        *,
        instance_id: str = "i-0a",
        ports: tuple[int, int] | None = None,
        python: Path = Path(sys.executable),
        **environment: str,
    ) -> None:
        self.base = base
        self.instance_id = instance_id
        data = base / "input" / "data"
        data.mkdir(parents=True)
        (data / "agent").mkdir()
        (data / "agent" / "tidewheel.pyz").symlink_to(agent_file())
        put(bucket / "shards" / "0.tar", "a shard")
        put(bucket / folder / "job.json", job_text)
        self.folder = bucket / folder
        self.log = base / "log"
        first = free_ports(2)
        master, gang = ports or (first, first + 1)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [str(python), str(data / "agent" / "tidewheel.pyz"), "--host"],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={
                    **os.environ,
                    "SAGEMAKER_BASE_DIR": str(base),
                    "TIDEWHEEL_AWS_PROGRAM": str(FAKE_AWS),
                    "TIDEWHEEL_METADATA_URL": url,
                    "TIDEWHEEL_JOB_URI": f"s3://b/{folder}/job.json",
                    "TIDEWHEEL_HOSTS_URI": f"s3://b/{folder}/hosts/",
                    "TIDEWHEEL_LOOK_SECONDS": "0.2",
                    "TIDEWHEEL_SYNC_SECONDS": "0.2",
                    "TIDEWHEEL_MEET_SECONDS": "10",
                    "TIDEWHEEL_MASTER_PORT": str(master),
                    "TIDEWHEEL_GANG_PORT": str(gang),
                    **environment,
                },
            )

    def report(self) -> dict[str, Any]:
        path = self.folder / "hosts" / f"{self.instance_id}.json"
        document: dict[str, Any] = json.loads(path.read_text())
        return document

    def ended(self) -> dict[str, Any]:
        self.process.wait(timeout=60)
        report = self.report()
        assert "endedAt" in report, self.log.read_text()
        return report
