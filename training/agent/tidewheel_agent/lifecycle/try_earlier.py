"""After a script that failed as it resumed: once more, from the checkpoint before."""

from __future__ import annotations

import time
from dataclasses import replace

from ..checkpoints.kept.repair import step_back
from ..failure_file import LogTail
from ..log import log
from ..supervision.script_end import ScriptEnd
from .host_run import HostRun
from .plan_launch import plan_launch
from .prepare import Prepared
from .start import Started

_RESUME_SECONDS = 120.0
"""Loading a checkpoint fails before the first step. Imports of large frameworks take their time."""


def try_earlier(
    run: HostRun, prepared: Prepared, started: Started, end: ScriptEnd
) -> Prepared | None:
    """What a kill has cut off may look whole, and the script alone knows.

    None where the failure has
    another cause, or no other checkpoint is there. The hosts of a gang would have to agree on one,
    so this holds for a script on one host.
    """
    job = run.job
    failed = end.script_code != 0 and not end.was_stopped and not end.was_killed
    is_alone = len(job.hosts) == 1 and job.checkpoint_dir is not None
    if not failed or not is_alone or prepared.has_stepped_back:
        return None
    if not started.resumes:
        return None
    seconds = time.time() - started.started_at
    if seconds > _RESUME_SECONDS or started.progress.has_trained:
        return None
    assert job.checkpoint_dir is not None
    done = step_back(job.checkpoint_dir, job.checkpoint_rules)
    if done is None:
        return None
    problem = f"the script failed {seconds:.0f} s after it resumed from it"
    done = replace(done, problem=problem)
    log(f"{done.name} may be damaged: {problem}; trying once with {done.instead}")
    launch, environment = plan_launch(job, run.settings, prepared.hardware, prepared.files)
    return replace(
        prepared,
        launch=launch,
        environment=environment,
        tail=LogTail(),
        repairs=(*prepared.repairs, done),
        has_stepped_back=True,
    )
