"""After a script that automatic checkpoints could not resume: from its beginning, without them."""

from __future__ import annotations

import time
from dataclasses import replace

from ..automatic.exchange import FAILED_RESUME, read_failed_resume
from ..automatic.note import add_to_automatic
from ..failure_file import LogTail
from ..log import log
from ..supervision.script_end import ScriptEnd
from ..trackers.identity import run_identity
from .host_run import HostRun
from .plan_launch import plan_launch
from .prepare import Prepared
from .start import Started


def start_over(
    run: HostRun, prepared: Prepared, started: Started, end: ScriptEnd
) -> Prepared | None:
    """Each of its later resumes would fail alike, and with it the run.

    None where the script ended for another reason. The hosts of a gang would have to agree, so this
    holds for a script on one host; that of several fails with the reason.
    """
    job, notes = run.job, run.job.checkpoint_dir
    failed = end.script_code != 0 and not end.was_stopped and not end.was_killed
    if not failed or notes is None or len(job.hosts) > 1:
        return None
    resume = read_failed_resume(prepared.files.automatic)
    if resume is None:
        return None
    (prepared.files.automatic / FAILED_RESUME).unlink()
    log(f"{job.program} begins again without automatic checkpoints: {resume}")
    identity = run_identity(job)
    fact = {
        "attempt": identity.attempt if identity else 1,
        "result": "refused",
        "reason": f"the script begins again, since {resume}",
        "step": resume.step,
        "seconds": round(time.time() - started.started_at, 1),
    }
    add_to_automatic(notes, "trial", fact)
    launch, environment = plan_launch(job, run.settings, prepared.hardware, prepared.files)
    return replace(prepared, launch=launch, environment=environment, tail=LogTail())
