"""The host's entry point: reads the job, trains, uploads the model, reports."""

import os
import signal
from dataclasses import replace
from pathlib import Path

from tidewheel_agent.platform_failure import is_disk_full, platform_failure
from tidewheel_contract.documents import DISK_FULL_EXIT_CODE

from .aws_cli import AwsCliError, DiskFullError
from .container import parse_job
from .context import HostContext, host_context
from .logs import HostLog
from .rendezvous import HostsMissingError
from .report import Reporter
from .requests import Requests
from .rounds import STOPPED, Rounds
from .uploads import upload_model

_FAILURE_CHARACTERS = 1_024


def main() -> int:
    # SIGUSR1 asks the agent for a checkpoint. Until the agent has its handler, the signal would
    # kill it; ignoring it here makes the agent start with it ignored.
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    context = host_context(os.environ)
    instance_id = context.metadata.get("instance-id") or "unknown"
    launched_at = context.metadata.launched_at()
    reporter = Reporter(
        context.aws, context.hosts_uri, instance_id, launched_at, context.renew_seconds
    )
    try:
        code = _train(context, reporter)
    except HostsMissingError as error:  # The script is not at fault: the run goes on elsewhere.
        code = STOPPED
        reporter.change(failure=f"Interrupted: host missing: {error}")
    except Exception as error:  # Any other failure of this host goes into its report.
        code = 1
        reporter.change(failure=_failure_text(error)[:_FAILURE_CHARACTERS])
    reporter.change(exit_code=code)
    reporter.end()
    return code


def _failure_text(error: Exception) -> str:
    text = f"{type(error).__name__}: {error}"
    if is_disk_full(error) or isinstance(error, DiskFullError):
        return platform_failure("disk", text)
    if isinstance(error, AwsCliError):
        return platform_failure("storage", text)
    return text


def _train(context: HostContext, reporter: Reporter) -> int:
    job = parse_job(context.aws.read(context.job_uri))
    selected = context.metadata.get("instance-type")
    if selected is not None:
        job = replace(job, instance_type=f"ml.{selected}")
    reporter.start()
    log = HostLog(context.aws, job.log_group, f"{job.name}/{reporter.report.instance_id}")
    try:
        address = context.metadata.get("local-ipv4") or "127.0.0.1"
        requests = Requests(context.aws, f"{context.attempt_uri}requests/", log.write)
        rounds = Rounds(context, job, reporter, requests, log, address)
        code = rounds.train()
        if code == 0 and rounds.is_first and rounds.report.stopped_by is None:
            reporter.change(model_uri=upload_model(context.aws, context.base, job))
        if code != 0:
            reporter.change(failure=read_failure(context.base, code))
        return code
    except (HostsMissingError, AwsCliError) as error:
        log.write(f"[tidewheel] {error}")
        raise
    finally:
        log.close()


def read_failure(base: Path, exit_code: int) -> str | None:
    """What the agent wrote, or tells by its exit code where the disk had no room for it."""
    try:
        text = (base / "output" / "failure").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    if exit_code == DISK_FULL_EXIT_CODE and not text:
        return platform_failure("disk", "the disk has no room for the failure file")
    return text[:_FAILURE_CHARACTERS] or None
