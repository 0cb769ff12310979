"""What the agent does each second for automatic checkpoints, declared or not."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..checkpoints.checkpoint import Checkpoint
from ..configuration.job import Job
from ..configuration.script_environment import ScriptFiles
from ..configuration.settings import CheckpointRules
from ..files import write_atomically
from ..log import log
from ..supervision.script import Script
from ..supervision.script_source import ScriptSource
from ..trackers.identity import run_identity
from .note import add_to_automatic, remove_automatic_checkpoints, trial_result
from .offer import Offer, open_offer
from .scratch import make_scratch
from .trial import Trial, TrialCommand


@dataclass
class AutomaticWatch:
    trial: Trial | None = None
    offer: Offer | None = None

    def check(self, script: Script, newest: Checkpoint | None, *, is_stopping: bool) -> None:
        if is_stopping:
            self.close()
            return
        if self.trial is not None:
            self.trial.check(script)
        if self.offer is not None:
            self.offer.check(newest)

    def close(self) -> None:
        if self.trial is not None:
            self.trial.close()


def without_refused_hooks(job: Job, environment: dict[str, str]) -> dict[str, str]:
    """Takes the hooks away from a script for which an earlier attempt has found that they fail."""
    folder = job.checkpoint_dir
    if folder is None or "TIDEWHEEL_AUTOMATIC_DIR" not in environment:
        return environment
    if trial_result(folder) != "refused":
        return environment
    log("automatic checkpoints are off: their trial has failed in this run")
    remove_automatic_checkpoints(folder)
    return {k: v for k, v in environment.items() if not k.startswith("TIDEWHEEL_AUTOMATIC_")}


def rules_in_force(job: Job, environment: Mapping[str, str]) -> CheckpointRules | None:
    """Without the hooks a script's own files count again."""
    rules = job.checkpoint_rules
    is_off = rules is not None and rules.automatic and "TIDEWHEEL_AUTOMATIC_DIR" not in environment
    return None if is_off else rules


def watch_automatic(
    job: Job,
    source: ScriptSource,
    files: ScriptFiles,
    argv: Sequence[str],
    environment: dict[str, str],
) -> AutomaticWatch:
    """Before the script starts: the trial needs the source as it is now."""
    identity, notes = run_identity(job), job.checkpoint_dir
    attempt = identity.attempt if identity else 1
    if notes is None or not job.is_leader:
        return AutomaticWatch()
    if "TIDEWHEEL_AUTOMATIC_DIR" not in environment:
        return AutomaticWatch(offer=open_offer(job, source, attempt))
    if job.strategy != "single" and trial_result(notes) is None:
        reason = "a trial is made of a script in one process"
        fact = {"attempt": attempt, "result": "untried", "reason": reason}
        add_to_automatic(notes, "trial", fact)
    try:
        scratch = make_scratch(job, files.automatic / "second")
    except OSError as error:
        log(f"automatic checkpoints cannot be tried: {error}")
        return AutomaticWatch()
    command = TrialCommand([*argv], environment, job.working_dir, scratch, str(job.base))
    if (known := trial_result(notes)) is not None:
        write_atomically(files.automatic / "verdict.json", json.dumps({"result": known}))
    return AutomaticWatch(Trial(files.automatic, command, notes, attempt))
