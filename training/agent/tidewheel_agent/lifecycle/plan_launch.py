"""What the script is started with: the strategy's program and the variables."""

from __future__ import annotations

import os
from dataclasses import replace

from ..automatic.watch import without_refused_hooks
from ..checkpoints.newest import newest_checkpoint
from ..configuration.hardware import Hardware
from ..configuration.job import Job
from ..configuration.placeholders import checkpoint_patterns
from ..configuration.script_environment import ScriptFiles, script_environment
from ..configuration.settings import Settings
from ..log import log
from ..strategies.launch import Launch, plan
from ..trackers.resume import prepare_trackers


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
