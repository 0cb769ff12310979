"""The second step: the strategy's program on this host, and what watches it."""

import math
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tidewheel_contract.documents import HangNote
from tidewheel_contract.reading import path_in

from ..automatic.watch import AutomaticWatch, rules_in_force, watch_automatic
from ..checkpoints.checkpoint import Checkpoint
from ..checkpoints.log_progress import LogProgress
from ..checkpoints.note import has_started_before
from ..checkpoints.progress import ProgressReporter
from ..checkpoints.stall_watch import StallWatch
from ..configuration.job import Job
from ..configuration.settings import ConfigurationError
from ..evidence.cells import awaits_first_step
from ..evidence.point import Place
from ..evidence.recorder import EvidenceRecorder, Start
from ..log import log
from ..metrics.counters import Counters, MachineCounters, ProcessCounters
from ..metrics.nvml import open_gpus
from ..metrics.usage import DataWait, UsageRecorder
from ..phase import script_begins
from ..resumes.resume_proof import ResumeProof, open_resume_proof
from ..series.log_lines import LogLines
from ..supervision.process_tree import adopt_orphans
from ..supervision.script import Script
from ..supervision.script_source import ScriptSource, has_left_unsaved, read_source
from ..supervision.supervisor import (
    CHECK_SECONDS,
    EXIT_STOPPED,
    KILL_NOTICE_SECONDS,
    Rules,
    Supervisor,
)
from ..supervision.watchdog import Watchdog
from ..trackers.identity import attempt_of
from ..trackers.run_series import RunSeries, open_series
from .hang import HangReports
from .host_run import HostRun, Outcome, peer_failed
from .prepare import Prepared
from .scores import forget_scores
from .step_limit import StepLimit

_LATE_CHECKPOINT_SECONDS = 2.0
"""For the last checkpoint of another host, whose agent looks for one every second."""


@dataclass(frozen=True)
class Beside:
    """What goes on beside the script until it has ended."""

    watchdog: Watchdog
    automatic: AutomaticWatch
    usage: UsageRecorder
    series: RunSeries | None
    stall_watch: StallWatch | None

    def close(self) -> None:
        self.watchdog.dismiss()
        self.automatic.close()
        if self.series is not None:
            self.series.close()
        stalls = self.stall_watch
        self.usage.close(lambda: {"checkpoints": stalls.summary() if stalls else None})


@dataclass(frozen=True, kw_only=True)
class Started:
    supervisor: Supervisor
    progress: ProgressReporter
    limit: StepLimit
    started_at: float
    """Unix seconds."""
    resumes: bool
    """A script of this run has started before."""
    beside: Beside


def start(run: HostRun, prepared: Prepared) -> Started | Outcome:
    """An outcome when nothing had to run on this host. Raises ConfigurationError."""
    launch, job = prepared.launch, run.job
    script_begins()
    if launch.only_waits:
        return _wait_for_leader(run)
    argv = launch.argv
    if launch.make_argv is not None and launch.host_index is not None:
        options = _wait_for_options(run, launch.host_index)
        if options is None:
            return _wait_for_leader(run)
        argv = launch.make_argv(options)
    log_progress = LogProgress(job.progress_pattern)
    folder = job.checkpoint_dir
    resumes = folder is not None and has_started_before(folder)
    progress = ProgressReporter(
        job.checkpoint_dir,
        leader=job.is_leader,
        log_progress=log_progress,
        rules=rules_in_force(job, prepared.environment),
        has_peers=len(job.training_hosts) > 1,
        peer_checkpoint=lambda: run.gang.state.peer_checkpoint,
        send=run.gang.send_checkpoint,
    )
    proof = open_resume_proof(job, progress, prepared.repairs, prepared.files.ended, log_progress)
    lines = LogLines(job.progress_pattern, _first_step(progress.newest) if resumes else 0.0)
    series = open_series(job, log_progress, lines)
    on_line = _line_reader(run, prepared, log_progress, series, proof)
    source = read_source(job.code_dir)
    automatic = watch_automatic(job, source, prepared.files, launch, prepared.environment, run.gang)
    progress.keep_before_start()
    forget_scores(job)
    temporary = prepared.files.temporary
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(exist_ok=True)
    script = _start_script(run, prepared, argv, on_line)
    watchdog = Watchdog(script.token, script.pid, script.leftovers)
    started_at = time.time()
    evidence = _record_evidence(run, prepared, resumes=progress.newest is not None)
    usage = _record_usage(run, prepared, script, evidence)
    progress.script_started(
        started_at,
        usage.means,
        evidence.pace_of_note.take,
        partial(awaits_first_step, prepared.files.instrument),
        lambda: evidence.skipped_seconds,
    )
    # Only the leader's folder gets new checkpoints, so elsewhere their absence is no stall.
    watches = job.checkpoint_dir is not None and job.is_leader
    stall_watch = StallWatch(started_at, job.checkpoint_seconds) if watches else None
    hang = HangReports(
        script,
        gpu_percent=usage.gpu_percent,
        positions=lambda: (log_progress.step, series.furthest() if series is not None else None),
        cells=prepared.files.instrument,
        tail=prepared.tail,
        file=_hang_file(job),
        gang=run.gang,
        serves=launch.serves,
        end_seconds=run.settings.hang_seconds,
    )
    limit = StepLimit(run, prepared.files.instrument, log_progress)
    pass_on = _checks(run, prepared, progress, proof, hang)

    def on_check(newest: Checkpoint | None) -> None:
        pass_on(newest)
        automatic.check(script, newest, is_stopping=run.stop.is_set())

    supervisor = Supervisor(
        script,
        progress,
        run.stop,
        run.gang.state,
        _rules(run, prepared, source),
        stall_watch=stall_watch,
        has_trained_enough=limit.is_reached,
        on_check=on_check,
        knows_cause=prepared.tail.ends_with_full_disk,
    )
    return Started(
        supervisor=supervisor,
        progress=progress,
        limit=limit,
        started_at=started_at,
        resumes=resumes,
        beside=Beside(watchdog, automatic, usage, series, stall_watch),
    )


def _start_script(
    run: HostRun, prepared: Prepared, argv: list[str], on_line: Callable[[str], None]
) -> Script:
    try:
        return Script(
            argv,
            environment=prepared.environment,
            directory=run.job.working_dir,
            on_line=on_line,
            has_launcher=prepared.launch.has_launcher,
            owns_children=adopt_orphans(),
        )
    except OSError as error:
        if not run.job.script.command:
            raise
        raise ConfigurationError(
            f"training.command {argv[0][:200]!r} cannot be started on this host "
            f"({error.strerror}): name a program of the image, of requirements.txt, "
            "or run a file of the source by its interpreter, such as [bash, run.sh]"
        ) from error


def _first_step(newest: Checkpoint | None) -> float:
    """Infinite where it is not known in the script's steps."""
    return newest.step if newest is not None and newest.unit == "step" else math.inf


def _line_reader(
    run: HostRun,
    prepared: Prepared,
    log_progress: LogProgress,
    series: RunSeries | None,
    proof: ResumeProof | None,
) -> Callable[[str], None]:
    """Reads each line of the script's output."""
    read_options = prepared.launch.read_options

    def read(line: str) -> None:
        prepared.tail.add(line)
        log_progress.read_line(line)
        point = series.read(line) if series is not None else None
        if proof is not None and point is not None:
            proof.add(point)
        if read_options is not None and (options := read_options(line)):
            run.gang.send_launch(*options)

    return read


def _hang_file(job: Job) -> Path | None:
    folder = job.checkpoint_dir
    return None if folder is None else path_in(folder, HangNote, host=job.current_host)


def _rules(run: HostRun, prepared: Prepared, source: ScriptSource) -> Rules:
    job, gang = run.job, run.gang
    serves = prepared.launch.serves
    folder = job.checkpoint_dir
    left_unsaved = folder is not None and has_left_unsaved(folder)
    # A job that waits briefly for a hang looks often, and waits briefly for the script's end, too.
    hang_quarter = (run.settings.hang_seconds or 86_400) / 4
    return Rules(
        stop_file=prepared.files.stop,
        grace_seconds=run.settings.grace_seconds,
        can_save=job.checkpoint_dir is not None,
        # Hosts of a gang end one another, so only a script alone ends for its own reasons.
        may_ask=len(job.hosts) > 1 or serves or source.may_ask,
        withholds_sigterm=source.leaves_unsaved or (left_unsaved and not source.may_ask),
        has_peers=len(job.training_hosts) > 1,
        serves_until=(lambda: job.leader in gang.state.exit_codes) if serves else None,
        check_seconds=min(CHECK_SECONDS, hang_quarter),
        hung_notice_seconds=min(KILL_NOTICE_SECONDS, hang_quarter),
        late_checkpoint_seconds=_LATE_CHECKPOINT_SECONDS if _any_host_may_save(run) else 0.0,
    )


def _any_host_may_save(run: HostRun) -> bool:
    job = run.job
    is_shared = job.traits.saved_by == "any_host" and len(job.training_hosts) > 1
    return job.is_leader and is_shared


def _checks(
    run: HostRun,
    prepared: Prepared,
    progress: ProgressReporter,
    proof: ResumeProof | None,
    hang: HangReports,
) -> Callable[[Checkpoint | None], None]:
    """Passes requests for a checkpoint to the script and to all hosts, whichever of them saves."""

    def on_check(newest: Checkpoint | None) -> None:
        if run.save.take_own():
            run.gang.send_save_request()
        run.save.update(prepared.files.save, newest)
        if proof is not None:
            proof.saw_checkpoint(progress.first_new)
        hang.check()

    return on_check


def _record_evidence(run: HostRun, prepared: Prepared, *, resumes: bool) -> EvidenceRecorder:
    job = run.job
    machine_cores = 0 if run.settings.cpus is None else os.cpu_count() or 0
    return EvidenceRecorder(
        job.checkpoint_dir,
        attempt_of(job),
        job.current_host,
        Place(job.hosts.index(job.current_host), prepared.hardware.cpus, machine_cores),
        prepared.files.instrument,
        Start(
            at=time.time(),
            script_at=time.monotonic(),
            install_seconds=prepared.install_seconds,
            download_seconds=run.settings.download_seconds,
            hooks="on" if job.script.instrument else "declined",
            resumes=resumes,
        ),
    )


def _record_usage(
    run: HostRun, prepared: Prepared, script: Script, evidence: EvidenceRecorder
) -> UsageRecorder:
    shares_machine = run.settings.cpus is not None
    counters: Counters = (
        ProcessCounters(script.processes) if shares_machine else MachineCounters(open_gpus())
    )
    usage = UsageRecorder(
        counters,
        run.job.base / "output" / "data",
        run.job.current_host,
        prepared.hardware.cpus,
        DataWait(prepared.files.data_wait),
        evidence,
    )
    usage.start()
    return usage


def _wait_for_options(run: HostRun, host_index: int) -> list[str] | None:
    """The options that the leader's program has for this host's; None if the job ends before."""
    state = run.gang.state
    deadline = time.monotonic() + run.settings.peers_seconds
    while host_index not in state.launch_options:
        if run.stop.is_set() or state.peer_failure or state.exit_codes:
            return None
        if time.monotonic() > deadline:
            raise ConfigurationError(
                f"no message from the leader's program within {run.settings.peers_seconds:g} s:"
                f" open port {run.settings.gang_port} between the job's hosts"
            )
        time.sleep(0.1)
    return state.launch_options[host_index]


def _wait_for_leader(run: HostRun) -> Outcome:
    """Ends when the leader ends: a container that ends before or after it would disturb the job."""
    leader, state = run.job.leader, run.gang.state
    log(f"not in a group that trains: waiting for {leader} to end")
    deadline = time.monotonic() + run.settings.peers_seconds
    while not run.stop.is_set():
        if state.peer_failure:
            return peer_failed(state.peer_failure, "nothing ran here")
        if leader in state.exit_codes:
            log(f"host {leader} ended with exit code {state.exit_codes[leader]}")
            return Outcome(state.exit_codes[leader])
        if not run.gang.has_connected and time.monotonic() > deadline:
            raise ConfigurationError(
                f"no connection to {leader}:{run.settings.gang_port} within "
                f"{run.settings.peers_seconds:g} s: open that port between the job's hosts"
            )
        time.sleep(0.2)
    run.stop.acknowledge()
    return Outcome(EXIT_STOPPED)
