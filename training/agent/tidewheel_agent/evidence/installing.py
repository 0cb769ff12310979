"""Tells the service what pip is at, in the document that the first step completes."""

from __future__ import annotations

import time

from tidewheel_contract import documents

from ..configuration.job import Job
from ..files import write_document
from ..log import iso, log
from .recorder import evidence_file


def tell_installation(job: Job, attempt: int, what: str, packages: int) -> None:
    """A host without a checkpoint folder reports nothing."""
    if job.checkpoint_dir is None:
        return
    file = evidence_file(job.checkpoint_dir, documents.HostStart, attempt, job.current_host)
    document = documents.HostStart(
        started_at=iso(time.time()),
        phases=documents.HostStartPhases(
            download=None, install=None, script_start=None, first_batch=None, first_step=None
        ),
        hooks=documents.HostStartHooks(kind="on" if job.script.instrument else "declined"),
        installing=documents.HostStartInstalling(what=what, packages=packages),
    )
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_document(file, document)
    except OSError as error:
        log(f"cannot tell what is installed: {error}")
