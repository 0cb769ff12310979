"""Notes for the service whether a script that started again went on from its checkpoint.

`tidewheel-resume/attempt-<n>.json` in the checkpoint folder, one file an attempt. On EC2 an attempt
may start several times; the last start counts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tidewheel_contract import documents
from tidewheel_contract.reading import path_in

from ..checkpoints.checkpoint import Checkpoint
from ..checkpoints.kept.repair import Repair
from ..checkpoints.note import has_started_before, read_note
from ..configuration.job import Job
from ..files import write_document
from ..log import log
from ..series.point import Point
from ..trackers.identity import run_identity
from ..trackers.resume_point import read_resume_point
from .earlier_positions import Earlier, read_earlier
from .verdict import Verdict, by_checkpoint, by_position


@dataclass(frozen=True)
class Resumed:
    """What was there at the start."""

    checkpoint: Checkpoint | None
    repairs: Sequence[Repair]
    earlier: dict[str, Earlier]
    steps_per_second: float | None


class ResumeProof:
    """Points come from the thread that reads the output, checkpoints from the loop that looks."""

    def __init__(self, path: Path, resumed: Resumed) -> None:
        self._path = path
        self._resumed = resumed
        self._started_at = time.time()
        self._lock = threading.Lock()
        self._has_position = False
        self.verdict: Verdict | None = None
        self._write()

    def add(self, point: Point) -> None:
        """The first point of a unit that earlier starts printed, too."""
        if self._has_position or point.unit not in self._resumed.earlier:
            return
        self._has_position = True
        resumed = self._resumed
        self._decide(by_position(point.position, point.unit, resumed.earlier, resumed.checkpoint))

    def saw_checkpoint(self, saved: Checkpoint | None) -> None:
        """The first checkpoint of this start; None while there is none."""
        resumed = self._resumed.checkpoint
        if self.verdict is not None or saved is None or resumed is None:
            return
        seconds = max(0.0, saved.saved_at - self._started_at)
        pace = self._resumed.steps_per_second
        self._decide(by_checkpoint(saved, resumed, seconds=seconds, steps_per_second=pace))

    def _decide(self, verdict: Verdict | None) -> None:
        with self._lock:
            if verdict is None or self.verdict is not None:
                return
            self.verdict = verdict
            self._write()
        checkpoint = self._resumed.checkpoint
        if verdict.kind == "beganAgain" and checkpoint is not None:
            log(
                f"WARNING: the script began at {verdict.unit} {verdict.began_at:g}, although "
                f"{checkpoint.name} was there ({checkpoint.unit} {checkpoint.step}): it has to "
                "load its newest checkpoint when it starts"
            )

    def _write(self) -> None:
        checkpoint, verdict = self._resumed.checkpoint, self.verdict
        note = documents.ResumeNote(
            started_at=round(self._started_at, 3),
            checkpoint=None
            if checkpoint is None
            else documents.ResumeNoteCheckpoint(
                name=checkpoint.name,
                step=checkpoint.step,
                unit=checkpoint.unit,
                format=checkpoint.family,
            ),
            repairs=[
                documents.ResumeNoteRepair(
                    name=r.name, problem=r.problem, instead=r.instead, step=r.step
                )
                for r in self._resumed.repairs
            ],
            verdict=None if verdict is None else _document(verdict),
        )
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_document(self._path, note)


def _document(verdict: Verdict) -> documents.ResumeNoteVerdict:
    return documents.ResumeNoteVerdict(
        kind=verdict.kind,
        evidence=verdict.evidence,
        position=verdict.position,
        began_at=verdict.began_at,
    )


def open_resume_proof(
    job: Job, newest: Checkpoint | None, repairs: Sequence[Repair]
) -> ResumeProof | None:
    """Before the script starts. None on hosts that do not lead, and for the run's first start."""
    folder, identity = job.checkpoint_dir, run_identity(job)
    if folder is None or not job.is_leader or not (has_started_before(folder) or newest):
        return None
    point, note = read_resume_point(folder), read_note(folder)
    saved_at = point.saved_at if point is not None and newest is not None else None
    pace = note.step / note.training_seconds if note.step and note.training_seconds > 0 else None
    attempt = identity.attempt if identity else 1
    resumed = Resumed(newest, repairs, read_earlier(folder, saved_at), pace)
    try:
        return ResumeProof(path_in(folder, documents.ResumeNote, attempt=attempt), resumed)
    except OSError as error:
        log(f"cannot note how the script resumes: {error}")
        return None
