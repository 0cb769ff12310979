"""The host's report: written as soon as the host knows its job, renewed while it works."""

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal

from tidewheel_agent.log import iso_now
from tidewheel_contract.documents import HostReport
from tidewheel_contract.reading import unversioned

from .aws_cli import AwsCli, AwsCliError

Phase = Literal["started", "downloading", "installing", "script"]


class Reporter:
    """Writes the report at each phase, every `renew_seconds`, and at the end."""

    def __init__(
        self,
        aws: AwsCli,
        folder_uri: str,
        instance_id: str,
        launched_at: str | None,
        renew_seconds: float,
    ) -> None:
        """`launched_at`: EC2 bills from here."""
        self._aws = aws
        self._uri = f"{folder_uri}{instance_id}.json"
        self._renew_seconds = renew_seconds
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._done = threading.Event()
        self._renewing: threading.Thread | None = None
        self._downloaded: Callable[[], int] | None = None
        self._tell: Callable[[str], None] = lambda _line: None
        now = iso_now()
        self.report = HostReport(
            instance_id=instance_id,
            launched_at=launched_at,
            started_at=now,
            seen_at=now,
            phase="started",
            round=1,
        )

    def change(self, **fields: Any) -> None:  # noqa: ANN401
        """Changes fields of the report, for the next time that it is written."""
        with self._lock:
            self.report = replace(self.report, **fields)

    @property
    def text(self) -> str:
        return json.dumps(unversioned(self.report))

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
        self.change(phase=phase)
        if phase == "script" and self.report.script_started_at is None:
            self.change(script_started_at=iso_now())
        with suppress(AwsCliError):
            self.write(tries=1)

    def download(
        self, total: int | None, downloaded: Callable[[], int], tell: Callable[[str], None]
    ) -> None:
        """`downloaded`: bytes that have arrived, counted at each renewal; `tell` takes a line for
        the log."""
        self.change(download_bytes=total)
        self._downloaded = downloaded
        self._tell = tell
        self.enter("downloading")

    def end(self) -> None:
        """Writes the last report; none follows it."""
        self._done.set()
        if self._renewing is not None:
            self._renewing.join()
        self.change(ended_at=iso_now())
        self.write()

    def write(self, tries: int | None = None) -> None:
        with self._writing:
            self._count_download()
            self.change(seen_at=iso_now())
            self._aws.write(self._uri, self.text, tries)

    def _count_download(self) -> None:
        if self._downloaded is not None and self.report.phase == "downloading":
            self.change(downloaded_bytes=self._downloaded())

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
