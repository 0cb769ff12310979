"""Before the start: a checkpoint that a kill has cut off gives way to the last whole one."""

from __future__ import annotations

from ..checkpoints.kept.repair import Repair, repair
from ..configuration.job import Job
from ..log import log


def replace_damaged(job: Job) -> tuple[Repair, ...]:
    """What was replaced. Whatever lies in the folder, it must not keep a training from starting."""
    if job.checkpoint_dir is None:
        return ()
    try:
        return tuple(repair(job.checkpoint_dir, job.checkpoint_rules, leads=job.is_leader))
    except Exception as error:
        log(f"cannot look for damaged checkpoints: {error!r}")
        return ()
