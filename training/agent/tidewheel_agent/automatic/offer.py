"""Offers `training.checkpoint: automatic` to a script that saves nothing and suits the hooks."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ..checkpoints.checkpoint import Checkpoint
from ..configuration.job import Job
from ..log import log
from ..supervision.script_source import ScriptSource
from .note import add_to_automatic, read_automatic

_SAVED_NOTHING_SECONDS = 600.0


class Offer:
    def __init__(
        self, notes: Path, attempt: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._notes = notes
        self._attempt = attempt
        self._clock = clock
        self._started_at = clock()
        self._is_over = "offer" in read_automatic(notes)

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
        add_to_automatic(
            self._notes, "offer", {"attempt": self._attempt, "seconds": round(seconds)}
        )


def open_offer(job: Job, source: ScriptSource, attempt: int) -> Offer | None:
    """None where the hooks could not save the script, or the pipeline says how it saves."""
    suits = job.strategy == "single" and source.has_plain_loop and job.checkpoint_rules is None
    return Offer(job.checkpoint_dir, attempt) if suits and job.checkpoint_dir else None
