"""After a script that failed for a cause that a second start avoids: once more.

The hosts of a gang would have to agree, so this holds for a script on one host.
"""

import time
from dataclasses import replace

from tidewheel_contract.documents import AutomaticNoteTrial
from tidewheel_contract.trial import FAILED_RESUME

from ..automatic.note import add_to_automatic, read_failed_resume
from ..checkpoints.kept.repair import step_back
from ..configuration.script_environment import INSTRUMENT_FOLDER
from ..evidence.cells import note_removed
from ..failure_file import LogTail
from ..log import log
from ..supervision.supervisor import ScriptEnd
from ..trackers.identity import attempt_of
from .host_run import HostRun
from .prepare import Prepared, plan_launch
from .start import Started

_FRAME = '  File "'
_HOOKS = ("tidewheel_instrument", "for_scripts/sitecustomize")
_RESUME_SECONDS = 120.0
"""Loading a checkpoint fails before the first step. Imports of large frameworks take their time."""


def prepare_again(
    run: HostRun, prepared: Prepared, started: Started, end: ScriptEnd
) -> Prepared | None:
    """None where the script ended well, was stopped, or failed for another cause."""
    failed = end.script_code != 0 and not end.was_stopped and not end.was_killed
    if not failed or len(run.job.hosts) > 1:
        return None
    return (
        _without_automatic(run, prepared, started)
        or _unmeasured(run, prepared)
        or _from_earlier_checkpoint(run, prepared, started)
    )


def _planned_again(run: HostRun, prepared: Prepared) -> Prepared:
    launch, environment = plan_launch(run.job, run.settings, prepared.hardware, prepared.files)
    return replace(prepared, launch=launch, environment=environment, tail=LogTail())


def _without_automatic(run: HostRun, prepared: Prepared, started: Started) -> Prepared | None:
    """From its beginning, where automatic checkpoints could not resume it.

    Each of its later resumes would fail alike, and with it the run.
    """
    job, notes = run.job, run.job.checkpoint_dir
    resume = None if notes is None else read_failed_resume(prepared.files.automatic)
    if notes is None or resume is None:
        return None
    (prepared.files.automatic / FAILED_RESUME).unlink()
    log(f"{job.program} begins again without automatic checkpoints: {resume}")
    refused = AutomaticNoteTrial(
        attempt=attempt_of(job),
        result="refused",
        reason=f"the script begins again, since {resume}",
        step=resume.step,
        seconds=round(time.time() - started.started_at, 1),
    )
    add_to_automatic(notes, trial=refused)
    return _planned_again(run, prepared)


def _unmeasured(run: HostRun, prepared: Prepared) -> Prepared | None:
    """Where its traceback ends in the hooks that measure. It resumes if it saved a checkpoint."""
    if INSTRUMENT_FOLDER not in prepared.environment:
        return None
    traceback = prepared.tail.traceback()
    frames = [line for line in traceback if line.startswith(_FRAME)]
    if not frames or not any(each in frames[-1] for each in _HOOKS):
        return None
    log(f"{run.job.program} begins again without the hooks that measure: {traceback[-1]}")
    note_removed(prepared.files.instrument, "the script's own calls", traceback[-1])
    again = _planned_again(run, prepared)
    again.environment.pop(INSTRUMENT_FOLDER, None)
    return again


def _from_earlier_checkpoint(run: HostRun, prepared: Prepared, started: Started) -> Prepared | None:
    """Where it failed as it resumed. What a kill has cut off may look whole to all but the script.

    None where no other checkpoint is there.
    """
    job = run.job
    if job.checkpoint_dir is None or prepared.has_stepped_back or not started.resumes:
        return None
    seconds = time.time() - started.started_at
    if seconds > _RESUME_SECONDS or started.progress.has_trained:
        return None
    done = step_back(job.checkpoint_dir, job.checkpoint_rules)
    if done is None:
        return None
    problem = f"the script failed {seconds:.0f} s after it resumed from it"
    done = replace(done, problem=problem)
    log(f"{done.name} may be damaged: {problem}; trying once with {done.instead}")
    repairs = (*prepared.repairs, done)
    return replace(_planned_again(run, prepared), repairs=repairs, has_stepped_back=True)
