"""The first step: folders, source, environment, requirements, the other hosts, the launch."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from ..automatic.watch import without_refused_hooks
from ..checkpoints.frameworks import newest_checkpoint
from ..checkpoints.kept.repair import Repair, repair
from ..checkpoints.links import make_links_again
from ..configuration.job import Job
from ..configuration.placeholders import checkpoint_patterns
from ..configuration.script_environment import ScriptFiles, script_environment
from ..configuration.settings import ConfigurationError, Hardware, Settings, find_hardware
from ..evidence.recorder import tell_installation
from ..failure_file import LogTail
from ..log import log
from ..source.packages import installations
from ..source.place import place_source
from ..source.start_model import place_start_model
from ..strategies.launch import Launch, plan
from ..supervision.supervisor import EXIT_STOPPED
from ..trackers.identity import attempt_of
from ..trackers.resume import prepare_trackers
from .host_run import HostRun, Outcome


@dataclass(frozen=True)
class Prepared:
    hardware: Hardware
    launch: Launch
    files: ScriptFiles
    environment: dict[str, str]
    tail: LogTail
    """The end of the output so far, the installer's included."""
    install_seconds: float = 0.0
    """Of the source's requirements."""
    repairs: tuple[Repair, ...] = ()
    """Damaged checkpoints that were replaced."""
    has_stepped_back: bool = False
    """The script has failed once as it resumed, and now resumes from the checkpoint before."""


def prepare(run: HostRun, work: Path) -> Prepared | Outcome:
    """Raises ConfigurationError when the job cannot start; an outcome after a stop request.

    `work`: an empty folder for files between agent and script.
    """
    job, settings = run.job, run.settings
    hardware = find_hardware(settings)
    log(
        f"host {job.current_host} of {len(job.hosts)}, group {job.current_group}, "
        f"{job.current_instance_type}, {hardware.cpus} CPUs, {hardware.gpus} GPUs, "
        f"strategy {job.strategy}, script {job.program}"
    )
    _make_folders(job)
    place_source(job)
    _require_evaluation(job)
    repairs = _replace_damaged(job)
    if job.script.evaluation is None or not job.script.evaluation.is_alone:
        place_start_model(job)
    files = ScriptFiles.create(work)
    launch, environment = plan_launch(job, settings, hardware, files)
    tail = LogTail()
    began = time.monotonic()
    if wanted := installations(job, work):
        # Not above: its requests to AWS are a third of what the agent imports.
        from ..source.requirements import install_requirements

        install_requirements(
            job,
            wanted,
            environment,
            work,
            limit_seconds=settings.install_seconds,
            stopped=run.stop.is_set,
            on_line=tail.add,
            on_begin=lambda each: tell_installation(job, attempt_of(job), each.name, each.packages),
        )
    install_seconds = time.monotonic() - began
    _wait_for_peers(job, settings.peers_seconds, run.stop.is_set)
    if run.stop.is_set():
        run.stop.acknowledge()
        log("stop requested before the script started")
        return Outcome(EXIT_STOPPED)
    return Prepared(hardware, launch, files, environment, tail, install_seconds, repairs)


def _make_folders(job: Job) -> None:
    for folder in ("model", "output/data", "code"):
        (job.base / folder).mkdir(parents=True, exist_ok=True)
    if job.checkpoint_dir is not None:
        job.checkpoint_dir.mkdir(parents=True, exist_ok=True)


def _require_evaluation(job: Job) -> None:
    """A training would be paid for before its absence shows."""
    declared = job.script.evaluation
    if declared is not None and not (job.code_dir / declared.program).is_file():
        raise ConfigurationError(
            f"evaluation.entryPoint {declared.program} is not in the source: "
            "upload it, or name another file"
        )


def _wait_for_peers(job: Job, limit_seconds: float, stopped: Callable[[], bool]) -> None:
    """Waits until the other hosts' names resolve, which takes a while after a cluster's start."""
    deadline = time.monotonic() + limit_seconds
    for host in job.hosts:
        while not stopped():
            try:
                socket.getaddrinfo(host, None)
                break
            except OSError as error:
                if time.monotonic() >= deadline:
                    raise ConfigurationError(
                        f"host {host} does not resolve after {limit_seconds:g} s ({error}): "
                        "look for a host that did not start"
                    ) from error
                time.sleep(1)


def _replace_damaged(job: Job) -> tuple[Repair, ...]:
    """Links are made again; a checkpoint that a kill has cut off gives way to the last whole one.

    Whatever lies in the folder, it must not keep a training from starting.
    """
    if job.checkpoint_dir is None:
        return ()
    try:
        make_links_again(job.checkpoint_dir)
        return tuple(repair(job.checkpoint_dir, job.checkpoint_rules, leads=job.is_leader))
    except Exception as error:
        log(f"cannot look for damaged checkpoints: {error!r}")
        return ()


def plan_launch(
    job: Job, settings: Settings, hardware: Hardware, files: ScriptFiles
) -> tuple[Launch, dict[str, str]]:
    """Depends on the checkpoints that are there, so it is done again when one was set aside.

    Raises ConfigurationError.
    """
    job = replace(job, newest_checkpoints=_newest_checkpoints(job))
    launch = plan(job, settings, hardware)
    declared = {**os.environ, **job.script.environment}
    environment = script_environment(
        job,
        settings,
        hardware,
        files,
        defaults={**launch.environment, **prepare_trackers(job, declared)},
        processes=launch.processes,
        inherited=os.environ,
    )
    return launch, without_refused_hooks(job, environment)


def _newest_checkpoints(job: Job) -> dict[str, str]:
    newest: dict[str, str] = {}
    if job.checkpoint_dir is None:
        return newest
    for pattern in checkpoint_patterns([*job.script.command, *(job.script.arguments or ())]):
        if pattern in newest:
            continue
        try:
            name = newest_checkpoint(job.checkpoint_dir, pattern, job.checkpoint_rules)
        except Exception as error:  # Whatever lies there must not keep a training from starting.
            log(f"cannot look for {pattern}: {error!r}")
            continue
        log(f"${{checkpoints}}/{pattern} is {name or 'not there, so its argument is left out'}")
        if name is not None:
            newest[pattern] = name
    return newest
