"""What the agent does each second for automatic checkpoints, declared or not."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tidewheel_contract.documents import (
    AutomaticNoteOffer,
    AutomaticNoteStopped,
    AutomaticNoteTrial,
)
from tidewheel_contract.reading import read
from tidewheel_contract.trial import STOPPED, VERDICT, read_exchanged

from ..checkpoints.checkpoint import Checkpoint
from ..configuration.job import Job
from ..configuration.script_environment import ScriptFiles
from ..configuration.settings import CheckpointRules
from ..files import write_atomically
from ..gang.gang import Gang
from ..log import log
from ..strategies.ddp import with_master_port
from ..strategies.launch import Launch
from ..supervision.script import Script
from ..supervision.script_source import ScriptSource, read_source
from ..trackers.identity import attempt_of
from .note import (
    add_to_automatic,
    read_automatic,
    reason_without_hooks,
    set_aside_automatic_checkpoints,
    trial_result,
)
from .scratch import Scratch, make_scratch
from .second_process import SecondProcess, TrialCommand
from .trial import Trial, TrialElsewhere

_SAVED_NOTHING_SECONDS = 600.0


class StopNote:
    """Notes for the service that the hooks have given up, whenever that is."""

    def __init__(self, folder: Path, notes: Path, attempt: int) -> None:
        self._path = folder / STOPPED
        self._notes = notes
        self._attempt = attempt
        self.is_written = False

    def check(self) -> None:
        stopped = None if self.is_written else read_exchanged(self._path)
        if stopped is not None:
            self.is_written = True
            fact = {**stopped, "attempt": self._attempt}
            add_to_automatic(self._notes, stopped=read(AutomaticNoteStopped, fact))


@dataclass
class AutomaticWatch:
    stop: StopNote | None = None
    trial: Trial | TrialElsewhere | None = None
    offer: Offer | None = None

    def check(self, script: Script, newest: Checkpoint | None, *, is_stopping: bool) -> None:
        if self.stop is not None:
            self.stop.check()
        if is_stopping or (self.stop is not None and self.stop.is_written):
            self.close()
            return
        if self.trial is not None:
            self.trial.check(script)
        if isinstance(self.trial, Trial):
            self.trial = self.trial.later() or self.trial
        if self.offer is not None:
            self.offer.check(newest)

    def close(self) -> None:
        if self.stop is not None:
            self.stop.check()
        if self.trial is not None:
            self.trial.close()


def without_refused_hooks(job: Job, environment: dict[str, str]) -> dict[str, str]:
    """Takes the hooks away from a script for which this run has found that they fail, and from one
    of another framework than PyTorch."""
    folder = job.checkpoint_dir
    if folder is None or "TIDEWHEEL_AUTOMATIC_DIR" not in environment:
        return environment
    reason = reason_without_hooks(folder)
    if reason is None and (other := read_source(job.code_dir).other_framework) is not None:
        reason = f"they need PyTorch, and the script imports {other}"
        trial = AutomaticNoteTrial(attempt=attempt_of(job), result="refused", reason=reason)
        if job.is_leader:
            add_to_automatic(folder, trial=trial)
    if reason is None:
        return environment
    log(f"automatic checkpoints are off in this run: {reason}")
    set_aside_automatic_checkpoints(folder, leads=job.is_leader)
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
    launch: Launch,
    environment: dict[str, str],
    gang: Gang,
) -> AutomaticWatch:
    """Before the script starts: the trial needs the source as it is now."""
    attempt, notes = attempt_of(job), job.checkpoint_dir
    if notes is None:
        return AutomaticWatch()
    if "TIDEWHEEL_AUTOMATIC_DIR" not in environment:
        return AutomaticWatch(offer=_open_offer(job, source, attempt) if job.is_leader else None)
    stop = StopNote(files.automatic, notes, attempt) if job.is_leader else None
    known = trial_result(notes)
    if known is None and job.strategy not in ("single", "ddp"):
        known, reason = "untried", f"strategy {job.strategy} has no trial"
        untried = AutomaticNoteTrial(attempt=attempt, result="untried", reason=reason)
        add_to_automatic(notes, trial=untried)
    if known is not None:
        write_atomically(files.automatic / VERDICT, json.dumps({"result": known}))
        return AutomaticWatch(stop)
    try:
        scratch = make_scratch(job, files.automatic / "second")
    except OSError as error:
        log(f"automatic checkpoints cannot be tried: {error}")
        return AutomaticWatch(stop)
    command = trial_command(job, launch, environment, scratch)
    second = SecondProcess(files.automatic, command)
    hosts = job.training_hosts if job.strategy == "ddp" else (job.current_host,)
    others = gang if len(hosts) > 1 else None
    if job.is_leader:
        trial = Trial(files.automatic, second, notes, attempt, hosts, others)
        return AutomaticWatch(stop, trial)
    return AutomaticWatch(trial=TrialElsewhere(second, gang))


def trial_command(
    job: Job, launch: Launch, environment: dict[str, str], scratch: Scratch
) -> TrialCommand:
    def make_argv(port: int) -> list[str]:
        return with_master_port(launch.argv, port) if job.strategy == "ddp" else [*launch.argv]

    count = launch.processes if job.strategy == "ddp" else 1
    first = job.training_hosts.index(job.current_host) * count
    ranks = range(first, first + count)
    return TrialCommand(make_argv, environment, job.working_dir, scratch, str(job.base), ranks)


class Offer:
    """Of `training.checkpoint: automatic` to a script that saves nothing and suits the hooks."""

    def __init__(
        self, notes: Path, attempt: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._notes = notes
        self._attempt = attempt
        self._clock = clock
        self._started_at = clock()
        self._is_over = read_automatic(notes).offer is not None

    def check(self, newest: Checkpoint | None) -> None:
        """`newest`: the newest checkpoint of the run, if there is one."""
        seconds = self._clock() - self._started_at
        if self._is_over or (newest is None and seconds < _SAVED_NOTHING_SECONDS):
            return
        self._is_over = True
        if newest is not None:
            return
        log(
            f"the script has saved nothing for {seconds:.0f} s: training.checkpoint: automatic "
            "would save and restore it, without a change to it"
        )
        offer = AutomaticNoteOffer(attempt=self._attempt, seconds=round(seconds))
        add_to_automatic(self._notes, offer=offer)


def _open_offer(job: Job, source: ScriptSource, attempt: int) -> Offer | None:
    """None where the hooks could not save the script, or the pipeline says how it saves."""
    suits = job.strategy == "single" and source.has_plain_loop and job.checkpoint_rules is None
    return Offer(job.checkpoint_dir, attempt) if suits and job.checkpoint_dir else None
