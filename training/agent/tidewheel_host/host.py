"""The order of things on a host: meet the others, fetch, run the agent under watch, save, tell."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from tidewheel_agent.programs import AGENT

from .cloud import Cloud, CloudError
from .container import HostJob, fetch_channels, model_uri, parse_job, write_config
from .metadata import Metadata
from .rendezvous import default_interface, meet

_GRACE_SECONDS = 75
"""EC2 gives two minutes: what is left after the agent is for the last upload."""
_FAILURE_CHARACTERS = 1_024
_UPLOAD_ATTEMPTS = 3


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True)
class Surroundings:
    """What differs between EC2 and a test on one machine."""

    base: Path
    job_uri: str
    hosts_uri: str
    cloud: Cloud
    metadata: Metadata
    look_seconds: float = 5.0
    sync_seconds: float = 15.0
    meet_seconds: float = 900.0

    @property
    def folder_uri(self) -> str:
        return self.hosts_uri.rstrip("/").rpartition("/")[0] + "/"


def surroundings(environment: dict[str, str]) -> Surroundings:
    def number(name: str, default: float) -> float:
        return float(environment.get(name) or default)

    return Surroundings(
        base=Path(environment.get("SAGEMAKER_BASE_DIR") or "/opt/ml"),
        job_uri=environment["TIDEWHEEL_JOB_URI"],
        hosts_uri=environment["TIDEWHEEL_HOSTS_URI"],
        cloud=Cloud(environment.get("TIDEWHEEL_AWS_PROGRAM") or "aws"),
        metadata=Metadata(environment.get("TIDEWHEEL_METADATA_URL") or "http://169.254.169.254"),
        look_seconds=number("TIDEWHEEL_LOOK_SECONDS", 5),
        sync_seconds=number("TIDEWHEEL_SYNC_SECONDS", 15),
        meet_seconds=number("TIDEWHEEL_MEET_SECONDS", 900),
    )


@dataclass
class Report:
    """What the service reads of this host; see host reports in functions/core/ec2."""

    instance_id: str
    started_at: str = field(default_factory=_now)
    ended_at: str | None = None
    exit_code: int | None = None
    stopped_by: str | None = None
    failure: str | None = None
    model_uri: str | None = None
    unsaved: list[str] | None = None
    """Files of checkpoints that are not in the bucket, after all attempts; empty: all are."""

    def text(self) -> str:
        said = {
            "instanceId": self.instance_id,
            "startedAt": self.started_at,
            "endedAt": self.ended_at,
            "exitCode": self.exit_code,
            "stoppedBy": self.stopped_by,
            "failure": self.failure,
            "modelUri": self.model_uri,
            "unsavedFiles": None if self.unsaved is None else len(self.unsaved),
        }
        return json.dumps({name: value for name, value in said.items() if value is not None})


def main() -> int:
    around = surroundings(dict(os.environ))
    me = around.metadata.get("instance-id") or "unknown"
    report = Report(me)
    try:
        report.exit_code = _train(around, report)
    except Exception as error:  # a host that cannot train says why, and ends
        report.exit_code = 1
        report.failure = f"{type(error).__name__}: {error}"[:_FAILURE_CHARACTERS]
    report.ended_at = _now()
    around.cloud.write(f"{around.hosts_uri}{me}.json", report.text())
    return report.exit_code


def _train(around: Surroundings, report: Report) -> int:
    cloud, base = around.cloud, around.base
    job = parse_job(cloud.read(around.job_uri))
    address = around.metadata.get("local-ipv4") or "127.0.0.1"
    meeting = f"{around.folder_uri}rendezvous/"
    hosts = meet(cloud, meeting, report.instance_id, address, job.nodes, around.meet_seconds)
    rank = hosts.index(address)
    write_config(base, job, hosts, address, default_interface())
    fetch_channels(cloud, base, job, rank)
    # All attempts of the run share the prefix: this is how it resumes.
    cloud.copy_down(job.checkpoint_uri, base / "checkpoints")
    cloud.write(f"{around.hosts_uri}{report.instance_id}.json", report.text())
    code = _run_agent(around, job, report)
    report.unsaved = _save_all(cloud, base / "checkpoints", job.checkpoint_uri)
    if code == 0 and rank == 0 and report.stopped_by is None:
        report.model_uri = _upload_model(cloud, base, job)
    if code != 0:
        report.failure = _failure(base)
    return code


def _run_agent(around: Surroundings, job: HostJob, report: Report) -> int:
    """The agent as a child; whatever ends it is told to it as SageMaker tells it, by SIGTERM."""
    grace = {"TIDEWHEEL_GRACE_SECONDS": str(_GRACE_SECONDS)}
    job_environment = {"TRAINING_JOB_NAME": job.name, "AWS_REGION": job.region}
    agent = subprocess.Popen(
        [sys.executable, str(AGENT)],
        env={**os.environ, **grace, **job_environment, **job.environment},
    )
    deadline = time.monotonic() + job.maximum_run_seconds
    reasons: list[tuple[str, Callable[[], bool]]] = [
        ("spot", around.metadata.taken_back),
        ("stop", lambda: around.cloud.read_if_there(f"{around.folder_uri}stop.json") is not None),
        ("timeLimit", lambda: time.monotonic() > deadline),
    ]
    done = threading.Event()
    keeper = threading.Thread(target=_keep_saved, args=(around, job, done), daemon=True)
    keeper.start()
    try:
        while True:
            with suppress(subprocess.TimeoutExpired):
                return agent.wait(timeout=around.look_seconds)
            if report.stopped_by is None:
                report.stopped_by = next((name for name, holds in reasons if holds()), None)
                if report.stopped_by is not None:
                    agent.send_signal(signal.SIGTERM)
    finally:
        done.set()
        keeper.join(timeout=60)


def _save_all(cloud: Cloud, folder: Path, uri: str) -> list[str]:
    """The last upload, looked at in the bucket: SageMaker's own uploader gives no such word.
    Returns what is still missing."""
    missing: list[str] = []
    for _ in range(_UPLOAD_ATTEMPTS):
        try:
            cloud.sync_up(folder, uri)
            missing = cloud.missing(folder, uri)
        except CloudError as error:
            print(f"[tidewheel] the upload of checkpoints failed: {error}", flush=True)
            missing = [str(path) for path in folder.rglob("*") if path.is_file()]
            continue
        if not missing:
            print("[tidewheel] all checkpoints are in the bucket", flush=True)
            return []
    print(
        f"[tidewheel] {len(missing)} files of checkpoints are NOT in the bucket, "
        f"{missing[0] if missing else ''} among them",
        flush=True,
    )
    return missing


def _keep_saved(around: Surroundings, job: HostJob, done: threading.Event) -> None:
    while not done.wait(around.sync_seconds):
        # The next round tries again; a checkpoint counts only when all of it has arrived.
        with suppress(CloudError):
            around.cloud.sync_up(around.base / "checkpoints", job.checkpoint_uri)


def _upload_model(cloud: Cloud, base: Path, job: HostJob) -> str:
    uri = model_uri(job)
    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder) / "model.tar.gz"
        with tarfile.open(packed, "w:gz") as archive:
            for entry in sorted((base / "model").iterdir()):
                archive.add(entry, arcname=entry.name)
        cloud.put(packed, uri)
    return uri


def _failure(base: Path) -> str | None:
    try:
        text = (base / "output" / "failure").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text[:_FAILURE_CHARACTERS]
