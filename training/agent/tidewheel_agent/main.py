"""The order of things: read the job, place the source, start the strategy, supervise, report."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

from .agent_path import FOR_SCRIPTS
from .checkpoints.checkpoint import Checkpoint
from .checkpoints.progress import LogProgress, ProgressReporter
from .checkpoints.save_request import SaveRequest
from .checkpoints.stall_watch import CheckpointWatch
from .configuration.hardware import gpu_count
from .configuration.job import Job, read_job
from .configuration.script_environment import sagemaker_environment, thread_environment
from .configuration.settings import ConfigurationError, Settings, cpu_count, settings_from
from .gang.gang import Gang, Trouble
from .log import say
from .metrics.counters import Counters, MachineCounters, ProcessCounters
from .metrics.data_wait import WAITS_VARIABLE, Waits
from .metrics.nvml import open_gpus
from .metrics.usage import UsageRecorder
from .source.place import install_requirements, place_source
from .strategies.mpi import proxy_arguments, proxy_options
from .strategies.plan import Host, Launch, plan
from .supervision.failure import LogTail, failure_text, write_failure
from .supervision.process_tree import adopt_orphans
from .supervision.script import Script
from .supervision.supervisor import EXIT_STOPPED, End, StopRequest, Supervisor
from .supervision.watchdog import Watchdog

EXIT_CONFIGURATION = 1
_NEWS_SECONDS = 5.0
_SAVED_NEWS_SECONDS = 2.0
"""For the last checkpoint of another host: its agent looks every second."""
_SERVED_NEWS_SECONDS = 60.0
"""A service's own end says nothing: an MPI proxy ends with 0 while the first host still finds out
that its ranks have failed. The leader's word, or its loss, comes within this on a busy host too."""


@dataclass(frozen=True)
class Outcome:
    exit_code: int
    failure: str = ""
    """Text of the failure file; empty when the script is not at fault."""


def main() -> int:
    """Runs one host of a training job; returns the container's exit code."""
    stop = StopRequest()

    def on_signal(number: int, frame: FrameType | None) -> None:
        stop.set(signal.Signals(number).name)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    save = SaveRequest()
    signal.signal(signal.SIGUSR1, lambda number, frame: save.ask())
    base = Path(os.environ.get("SAGEMAKER_BASE_DIR") or "/opt/ml")
    try:
        settings = settings_from(os.environ)
        job = read_job(settings)
        outcome = _run_in_gang(job, settings, stop, save)
    except ConfigurationError as error:
        outcome = _cannot_start(error)
    if outcome.failure:
        write_failure(base / "output", outcome.failure)
    return outcome.exit_code


def _cannot_start(error: ConfigurationError) -> Outcome:
    for problem in error.problems:
        say(f"cannot start: {problem}")
    return Outcome(EXIT_CONFIGURATION, "Cannot start: " + "; ".join(error.problems) + "\n")


def _run_in_gang(job: Job, settings: Settings, stop: StopRequest, save: SaveRequest) -> Outcome:
    """Whatever happens to this host, the others are told."""
    gang = Gang(
        job.run_id,
        job.hosts,
        job.current_host,
        job.distribution_hosts[0],
        port=settings.gang_port,
        silence_seconds=settings.silence_seconds,
        on_stop=stop.set,
        on_save=save.hear,
    )
    gang.start()
    stop.on_set(gang.tell_stop)
    try:
        outcome = _run(job, settings, stop, save, gang)
    except ConfigurationError as error:
        outcome = _cannot_start(error)
    except Exception as error:  # a full disk, say: told to the others, so that they do not wait
        say(f"the agent failed: {error!r}")
        outcome = Outcome(1, f"The agent failed: {error!r}\n")
    gang.tell_ended(outcome.exit_code, outcome.failure)
    gang.close()
    return outcome


def _run(job: Job, settings: Settings, stop: StopRequest, save: SaveRequest, gang: Gang) -> Outcome:
    host = Host(cpu_count(settings), gpu_count(settings))
    say(
        f"host {job.current_host} of {len(job.hosts)}, group {job.current_group}, "
        f"{job.current_instance_type}, {host.cpus} CPUs, {host.gpus} GPUs, "
        f"strategy {job.strategy}, script {job.program}"
    )
    for folder in ("model", "output/data", "code"):
        (job.base / folder).mkdir(parents=True, exist_ok=True)
    if job.checkpoint_dir is not None:
        job.checkpoint_dir.mkdir(parents=True, exist_ok=True)
    place_source(job)
    launch = plan(job, settings, host)
    work = Path(tempfile.mkdtemp(prefix="tidewheel-"))
    (work / "waits").mkdir()
    try:
        environment = script_environment(
            job, settings, host, launch, work / "stop-soon", os.environ
        )
        return _prepare_and_supervise(job, settings, stop, save, gang, launch, environment)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def script_environment(
    job: Job,
    settings: Settings,
    host: Host,
    launch: Launch,
    stop_file: Path,
    inherited: Mapping[str, str],
) -> dict[str, str]:
    """Everything the script gets: what the platform set, the toolkit's variables, ours."""
    path = [str(job.code_dir), str(FOR_SCRIPTS)]
    path += [p for p in (inherited.get("PYTHONPATH"),) if p]
    defaults = {
        **launch.environment,
        **thread_environment(host.cpus, launch.processes, inherited),
        "PYTHONUNBUFFERED": "1",
    }
    ours = {
        **sagemaker_environment(job, host.cpus, host.gpus, inherited),
        "PYTHONPATH": os.pathsep.join(path),
        "TIDEWHEEL_STOP_FILE": str(stop_file),
        "TIDEWHEEL_SAVE_FILE": str(stop_file.with_name("save-soon")),
        "TIDEWHEEL_LEADS": "1" if job.is_leader else "0",
        WAITS_VARIABLE: str(stop_file.with_name("waits")),
        "TIDEWHEEL_GRACE_SECONDS": f"{settings.grace_seconds:g}",
    }
    if job.checkpoint_dir is not None:
        ours["TIDEWHEEL_CHECKPOINT_DIR"] = str(job.checkpoint_dir)
    interval = checkpoint_seconds(job)
    if interval is not None:
        ours["TIDEWHEEL_CHECKPOINT_SECONDS"] = f"{interval:g}"
    return {**defaults, **inherited, **ours}


def checkpoint_seconds(job: Job) -> float | None:
    """The interval between checkpoints that the service computed, if it did."""
    interval = job.control.get("tidewheel_checkpoint_seconds")
    if isinstance(interval, (int, float)) and not isinstance(interval, bool) and interval > 0:
        return float(interval)
    return None


def _prepare_and_supervise(
    job: Job,
    settings: Settings,
    stop: StopRequest,
    save: SaveRequest,
    gang: Gang,
    launch: Launch,
    environment: dict[str, str],
) -> Outcome:
    tail = LogTail()
    log = LogProgress(job.progress_pattern)

    def on_line(line: str) -> None:
        tail.add(line)
        log.read_line(line)
        if job.strategy == "mpi" and job.is_leader and (proxy := proxy_options(line)):
            gang.tell_proxy(*proxy)

    install_requirements(
        job,
        environment,
        limit_seconds=settings.install_seconds,
        stopped=stop.is_set,
        on_line=tail.add,
    )
    _wait_for_peers(job, settings.peers_seconds, stop.is_set)
    if stop.is_set():
        stop.acknowledge()
        say("told to leave before the script started")
        return Outcome(EXIT_STOPPED)
    if launch.only_waits:
        return _wait_for_leader(job, settings, stop, gang)
    argv = launch.argv
    if launch.awaits_proxy is not None:
        options = _wait_for_proxy(launch.awaits_proxy, settings, stop, gang)
        if options is None:
            return _wait_for_leader(job, settings, stop, gang)
        argv = proxy_arguments(job.distribution_hosts[0], options)
    progress = ProgressReporter(
        job.checkpoint_dir,
        leader=job.is_leader,
        log=log,
        elsewhere=lambda: gang.view.saved,
        tell=gang.tell_checkpoint,
    )
    script = Script(
        argv,
        environment=environment,
        directory=job.code_dir,
        on_line=on_line,
        has_launcher=launch.has_launcher,
        owns_children=adopt_orphans(),
    )
    watchdog = Watchdog(script.token, script.pid)
    script.leave_alone(watchdog.pid)
    started = time.time()
    progress.script_started(started)
    usage = _record_usage(job, settings, script, Waits(Path(environment[WAITS_VARIABLE])))
    progress.measured_by(usage.means)
    watch = None
    leader = job.distribution_hosts[0]
    # Only the leader's folder gets new checkpoints; elsewhere nothing new is no stall.
    if job.checkpoint_dir is not None and job.is_leader:
        watch = CheckpointWatch(started, checkpoint_seconds(job))
    supervisor = Supervisor(
        script,
        progress,
        stop,
        gang.view,
        watch,
        stop_file=Path(environment["TIDEWHEEL_STOP_FILE"]),
        grace_seconds=settings.grace_seconds,
        can_save=job.checkpoint_dir is not None,
        serves_until=(lambda: leader in gang.view.ended) if launch.serves else None,
        on_look=_passing_on(save, gang, Path(environment["TIDEWHEEL_SAVE_FILE"])),
        news_seconds=_SAVED_NEWS_SECONDS if job.is_leader and _any_host_saves(job) else 0.0,
    )
    try:
        end = supervisor.run()
    finally:
        watchdog.dismiss()
        usage.close(lambda: {"checkpoints": watch.document() if watch else None})
    end = _with_late_news(end, tail, gang, leader if launch.serves else None)
    if launch.serves and leader in gang.view.ended and not end.trouble:
        say(f"host {leader}, which this one served, ended with {gang.view.ended[leader]}")
        return Outcome(gang.view.ended[leader])
    trouble = trouble_elsewhere(end) if launch.serves else None
    if trouble is not None:
        return _judge_trouble(trouble, _what_is_safe(job, end))
    return judge(job, end, tail)


def trouble_elsewhere(end: End) -> Trouble | None:
    """What a service's end comes from: it has ended well, and what it served has not; or a host
    was lost, and whatever the service says of its own end (Ray's do, at length) follows from that.
    """
    if end.trouble is None or end.stopped:
        return None
    return end.trouble if end.script_code == 0 or end.trouble.is_lost else None


def _passing_on(save: SaveRequest, gang: Gang, file: Path) -> Callable[[Checkpoint | None], None]:
    """Requests for a checkpoint go to all hosts: which one saves is the script's to say."""

    def look(newest: Checkpoint | None) -> None:
        if save.take():
            gang.tell_save()
        save.look(file, newest)

    return look


def _any_host_saves(job: Job) -> bool:
    """Ray gives rank 0, which saves in most scripts, to any host that trains."""
    return job.strategy == "ray" and len(job.training_hosts) > 1


def _wait_for_proxy(
    index: int, settings: Settings, stop: StopRequest, gang: Gang
) -> list[str] | None:
    """What the leader's mpiexec wants of this host; None when everything has ended before."""
    give_up = time.monotonic() + settings.peers_seconds
    while index not in gang.view.proxies:
        if stop.is_set() or gang.view.trouble or gang.view.ended:
            return None
        if time.monotonic() > give_up:
            raise ConfigurationError(
                [
                    f"no word from the leader's mpiexec within {settings.peers_seconds:g} s: "
                    f"open port {settings.gang_port} between the job's hosts"
                ]
            )
        time.sleep(0.1)
    return gang.view.proxies[index]


def _wait_for_leader(job: Job, settings: Settings, stop: StopRequest, gang: Gang) -> Outcome:
    """A host outside the groups that train has nothing to do, but a container that ends early
    or late would end the job or hold it up."""
    leader = job.distribution_hosts[0]
    say(f"not in a group that trains: waiting for {leader} to end")
    give_up = time.monotonic() + settings.peers_seconds
    while not stop.is_set():
        if leader in gang.view.ended and not gang.view.trouble:
            say(f"host {leader} ended with exit code {gang.view.ended[leader]}")
            return Outcome(gang.view.ended[leader])
        if gang.view.trouble:
            return _judge_trouble(gang.view.trouble, "nothing ran here")
        if not gang.has_met and time.monotonic() > give_up:
            raise ConfigurationError(
                [
                    f"no connection to {leader}:{settings.gang_port} within "
                    f"{settings.peers_seconds:g} s: open that port between the job's hosts"
                ]
            )
        time.sleep(0.2)
    stop.acknowledge()
    return Outcome(EXIT_STOPPED)


def _record_usage(job: Job, settings: Settings, script: Script, waits: Waits) -> UsageRecorder:
    shares_machine = settings.cpus is not None
    counters: Counters = (
        ProcessCounters(script.processes) if shares_machine else MachineCounters(open_gpus())
    )
    folder = job.base / "output" / "data"
    usage = UsageRecorder(counters, folder, job.current_host, cpu_count(settings), waits)
    usage.start()
    return usage


def _with_late_news(end: End, tail: LogTail, gang: Gang, served: str | None) -> End:
    """A script that died of another host's death, or a service of its master's end, may be
    quicker than the news of it."""
    if end.stopped or gang.is_alone:
        return end
    if served is None and (end.script_code == 0 or tail.tells_own_cause()):
        return end
    until = time.monotonic() + (_NEWS_SECONDS if served is None else _SERVED_NEWS_SECONDS)
    while time.monotonic() < until and not (
        gang.view.trouble or gang.view.stop_reason or served in gang.view.ended
    ):
        time.sleep(0.1)
    return replace(end, trouble=gang.view.trouble, stopped=bool(gang.view.stop_reason))


def judge(job: Job, end: End, tail: LogTail) -> Outcome:
    """The exit code and the failure text that tell the truth about this end."""
    safe = _what_is_safe(job, end)
    if end.stopped:
        how = "was ended" if end.killed else f"left with exit code {end.script_code}"
        say(f"stopped: the script {how}; {safe}; exit code {end.exit_code}")
        return Outcome(end.exit_code)
    if end.script_code == 0 and not end.killed:
        say(f"{job.program} finished; {safe}")
        return Outcome(0)
    if end.trouble is not None and (end.killed or not tail.tells_own_cause()):
        return _judge_trouble(end.trouble, safe)
    say(f"{job.program} failed with exit code {end.script_code}; {safe}")
    text = failure_text(_failure_summary(job, end.script_code), tail)
    return Outcome(end.script_code, text)


def _judge_trouble(trouble: Trouble, safe: str) -> Outcome:
    if trouble.is_lost:
        text = f"Interrupted: host {trouble.host} was lost; {safe}. The script is not at fault.\n"
        say(text.strip())
        return Outcome(EXIT_STOPPED, text)
    say(f"ended because host {trouble.host} failed; {safe}")
    return Outcome(trouble.code or 1, trouble.text or f"Host {trouble.host} failed first.\n")


def _what_is_safe(job: Job, end: End) -> str:
    if end.newest:
        return f"step {end.newest.step} is safe"
    # Elsewhere the checkpoint is the leader's to write.
    return "no complete checkpoint" if job.is_leader else f"see {job.distribution_hosts[0]}"


def _failure_summary(job: Job, code: int) -> str:
    summary = f"{job.program} ended with exit code {code} on {job.current_host}"
    if code == 137:
        return f"{summary} (killed by SIGKILL: most often the host ran out of memory)"
    if 128 < code < 160:
        try:
            return f"{summary} (signal {signal.Signals(code - 128).name})"
        except ValueError:
            return summary
    return summary


def _wait_for_peers(job: Job, limit_seconds: float, stopped: Callable[[], bool]) -> None:
    """Names of the other hosts may take a while to resolve after the start of a cluster."""
    deadline = time.monotonic() + limit_seconds
    for host in job.hosts:
        while not stopped():
            try:
                socket.getaddrinfo(host, None)
                break
            except OSError as error:
                if time.monotonic() >= deadline:
                    raise ConfigurationError(
                        [
                            f"host {host} does not resolve after {limit_seconds:g} s ({error}): "
                            "look for a host that did not start"
                        ]
                    ) from error
                time.sleep(1)
