"""The host's report: written as soon as the host knows its job, renewed while it works."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Literal

from .aws_cli import AwsCli, AwsCliError

Phase = Literal["started", "downloading", "installing", "script"]


def now() -> str:
    moment = datetime.fromtimestamp(time.time(), timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass
class Report:
    """What the service reads of this host; its schema is in functions/launch/ec2."""

    instance_id: str
    launched_at: str | None = None
    """EC2 bills from here."""
    started_at: str = field(default_factory=now)
    seen_at: str = field(default_factory=now)
    phase: Phase = "started"
    script_started_at: str | None = None
    downloaded_bytes: int | None = None
    download_bytes: int | None = None
    round: int = 1
    """The last round that this host trained in."""
    ended_at: str | None = None
    exit_code: int | None = None
    stopped_by: str | None = None
    failure: str | None = None
    model_uri: str | None = None
    missing_files: list[str] | None = None
    """Files of checkpoints that did not reach the bucket; None before the last upload."""

    def text(self) -> str:
        document = {
            "instanceId": self.instance_id,
            "launchedAt": self.launched_at,
            "startedAt": self.started_at,
            "seenAt": self.seen_at,
            "phase": self.phase,
            "scriptStartedAt": self.script_started_at,
            "downloadedBytes": self.downloaded_bytes,
            "downloadBytes": self.download_bytes,
            "round": self.round,
            "endedAt": self.ended_at,
            "exitCode": self.exit_code,
            "stoppedBy": self.stopped_by,
            "failure": self.failure,
            "modelUri": self.model_uri,
            "unsavedFiles": None if self.missing_files is None else len(self.missing_files),
        }
        return json.dumps({name: value for name, value in document.items() if value is not None})


class Reporter:
    """Writes the report at each phase, every `renew_seconds`, and at the end."""

    def __init__(self, aws: AwsCli, uri: str, report: Report, renew_seconds: float) -> None:
        self._aws = aws
        self._uri = uri
        self._renew_seconds = renew_seconds
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._renewing: threading.Thread | None = None
        self._downloaded: Callable[[], int] | None = None
        self._tell: Callable[[str], None] = lambda _line: None
        self.report = report

    def start(self) -> None:
        """Writes the first report and renews it from then on."""
        self.write()
        self._renewing = threading.Thread(target=self._renew, daemon=True)
        self._renewing.start()

    def enter(self, phase: Phase) -> None:
        """A report that does not arrive is written again with the next renewal."""
        if phase == self.report.phase:
            return
        self._count_download()
        self.report.phase = phase
        if phase == "script" and self.report.script_started_at is None:
            self.report.script_started_at = now()
        with suppress(AwsCliError):
            self.write(tries=1)

    def download(
        self, total: int | None, downloaded: Callable[[], int], tell: Callable[[str], None]
    ) -> None:
        """`downloaded`: bytes that have arrived, counted at each renewal; `tell` takes a line for
        the log."""
        self.report.download_bytes = total
        self._downloaded = downloaded
        self._tell = tell
        self.enter("downloading")

    def end(self) -> None:
        """Writes the last report; none follows it."""
        self._done.set()
        if self._renewing is not None:
            self._renewing.join()
        self.report.ended_at = now()
        self.write()

    def write(self, tries: int | None = None) -> None:
        with self._lock:
            self._count_download()
            self.report.seen_at = now()
            self._aws.write(self._uri, self.report.text(), tries)

    def _count_download(self) -> None:
        if self._downloaded is not None and self.report.phase == "downloading":
            self.report.downloaded_bytes = self._downloaded()

    def _renew(self) -> None:
        while not self._done.wait(self._renew_seconds):
            with suppress(AwsCliError):
                self.write(tries=1)
            if self.report.phase == "downloading" and self.report.downloaded_bytes is not None:
                self._tell(_share(self.report.downloaded_bytes, self.report.download_bytes))


def _share(done: int, total: int | None) -> str:
    """As the service tells it (functions/launch/ec2/fleet-state.ts)."""
    unit, name = (1e6, "MB") if (total or done) < 1e9 else (1e9, "GB")
    of = "" if total is None else f" of {total / unit:.1f}"
    return f"[tidewheel] {done / unit:.1f}{of} {name} are downloaded"
