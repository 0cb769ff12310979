"""The agent's entry point: reads the job, runs the four steps, returns the exit code."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path
from types import FrameType

from tidewheel_contract.documents import DISK_FULL_EXIT_CODE

from .checkpoints.save_request import SaveRequest
from .configuration.job import Job
from .configuration.read_job import read_job
from .configuration.settings import ConfigurationError, Settings, read_settings
from .failure_file import write_failure
from .gang.gang import Gang
from .lifecycle.conclude import conclude
from .lifecycle.evaluation import evaluate_alone
from .lifecycle.host_run import HostRun, Outcome, cannot_start
from .lifecycle.prepare import prepare
from .lifecycle.start import start
from .lifecycle.start_again import prepare_again
from .lifecycle.watch import watch
from .log import log
from .platform_failure import (
    PlatformFailureError,
    is_disk_full,
    platform_failure,
)
from .supervision.supervisor import StopRequest


def main() -> int:
    """Runs one host of a training job; returns the container's exit code."""
    stop, save = StopRequest(), SaveRequest()

    def on_stop_signal(number: int, _frame: FrameType | None) -> None:
        stop.set(signal.Signals(number).name)

    signal.signal(signal.SIGTERM, on_stop_signal)
    signal.signal(signal.SIGINT, on_stop_signal)
    signal.signal(signal.SIGUSR1, lambda *_: save.request())
    base = Path(os.environ.get("SAGEMAKER_BASE_DIR") or "/opt/ml")
    try:
        settings = read_settings(os.environ)
        outcome = _run_in_gang(read_job(settings), settings, stop, save)
    except ConfigurationError as error:
        outcome = cannot_start(error)
    if not outcome.failure_text:
        return outcome.exit_code
    unwritten = write_failure(base / "output", outcome.failure_text)
    is_full = unwritten is not None and is_disk_full(unwritten)
    return DISK_FULL_EXIT_CODE if is_full else outcome.exit_code


def _run_in_gang(job: Job, settings: Settings, stop: StopRequest, save: SaveRequest) -> Outcome:
    """Tells the other hosts how this one ended, whatever happened to it."""
    gang = Gang(
        job.run_id,
        job.hosts,
        job.current_host,
        job.leader,
        port=settings.gang_port,
        silence_seconds=settings.silence_seconds,
        on_stop=stop.set,
        on_save=save.receive,
    )
    gang.start()
    stop.on_set(gang.send_stop)
    try:
        outcome = _run(HostRun(job, settings, stop, save, gang))
    except ConfigurationError as error:
        outcome = cannot_start(error)
    except PlatformFailureError as error:
        log(f"cannot start: {error}")
        outcome = Outcome(1, f"{error}\n")
    except Exception as error:  # Such as a full disk: the other hosts must not wait for this one.
        log(f"the agent failed: {error!r}")
        text = f"The agent failed: {error!r}\n"
        outcome = Outcome(1, platform_failure("disk", text) if is_disk_full(error) else text)
    gang.send_end(outcome.exit_code, outcome.failure_text)
    gang.close()
    return outcome


def _run(run: HostRun) -> Outcome:
    """Prepare, start, watch, conclude; an outcome of an early step ends the run."""
    work = Path(tempfile.mkdtemp(prefix="tidewheel-"))
    try:
        prepared = prepare(run, work)
        if isinstance(prepared, Outcome):
            return prepared
        declared = run.job.script.evaluation
        if declared is not None and declared.is_alone:
            return evaluate_alone(run, prepared, declared)
        started = start(run, prepared)
        if isinstance(started, Outcome):
            return started
        end = watch(run, prepared, started)
        again = prepare_again(run, prepared, started, end)
        if again is not None:
            prepared, started = again, start(run, again)
            if isinstance(started, Outcome):
                return started
            end = watch(run, prepared, started)
        return conclude(run, prepared, end)
    finally:
        shutil.rmtree(work, ignore_errors=True)
