"""The order of things on a host: find out what it is for, take part, leave what it made, tell."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from .aws_cli import CloudError
from .container import parse_job
from .logs import HostLog
from .rendezvous import AloneError
from .report import Report, now
from .requests import Asked
from .rounds import STOPPED, Stay, Surroundings, surroundings
from .uploads import upload_model

_FAILURE_CHARACTERS = 1_024


def main() -> int:
    # The agent is asked for a checkpoint by it, and must not end of it before it listens.
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    around = surroundings(dict(os.environ))
    me = around.metadata.get("instance-id") or "unknown"
    report = Report(me)
    try:
        report.exit_code = _train(around, report)
    except AloneError as error:  # nobody's fault here: the run goes on elsewhere
        report.exit_code = STOPPED
        report.failure = f"Interrupted: host missing: {error}"
    except Exception as error:  # a host that cannot train says why, and ends
        report.exit_code = 1
        report.failure = f"{type(error).__name__}: {error}"[:_FAILURE_CHARACTERS]
    report.ended_at = now()
    around.cloud.write(f"{around.hosts_uri}{me}.json", report.text())
    return report.exit_code


def _train(around: Surroundings, report: Report) -> int:
    job = parse_job(around.cloud.read(around.job_uri))
    log = HostLog(around.cloud, job.log_group, f"{job.name}/{report.instance_id}")
    try:
        address = around.metadata.get("local-ipv4") or "127.0.0.1"
        asked = Asked(around.cloud, f"{around.folder_uri}asked/", log.write)
        stay = Stay(around, job, report, asked, log, address)
        code = stay.train()
        if code == 0 and stay.is_first and report.stopped_by is None:
            report.model_uri = upload_model(around.cloud, around.base, job)
        if code != 0:
            report.failure = _failure(around.base)
        return code
    except (AloneError, CloudError) as error:
        log.write(f"[tidewheel] {error}")
        raise
    finally:
        log.close()


def _failure(base: Path) -> str | None:
    try:
        text = (base / "output" / "failure").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text[:_FAILURE_CHARACTERS]
