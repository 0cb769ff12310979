"""The series of the run, from the leader's lines and files to the file beside the checkpoints."""

from __future__ import annotations

from collections.abc import MutableMapping
from functools import partial
from pathlib import Path

from ..configuration.job import Job
from ..series.log_files import LogFiles
from ..series.point import Point
from ..series.recorder import SeriesRecorder
from ..series.status_server import open_status_server
from .identity import run_identity
from .resume_point import read_resume_point


class RunSeries:
    """`newest`: gets each new value by its name, for the progress note.

    `environment`: variables by which the script's framework reports to it.
    """

    def __init__(
        self,
        recorder: SeriesRecorder,
        job: Job,
        newest: MutableMapping[str, float],
        status_token: Path,
    ) -> None:
        self._recorder = recorder
        self._newest = newest
        assert job.checkpoint_dir is not None
        folders = (job.checkpoint_dir, job.code_dir, job.base / "output" / "data")
        self._files = LogFiles(folders, self.add)
        self._files.start()
        add = partial(self.add, "kubeflow")
        self._status = open_status_server(status_token, add)
        self.environment = {} if self._status is None else self._status.environment

    def add(self, source: str, point: Point) -> None:
        self._newest.update(self._recorder.add(source, point))

    def close(self) -> None:
        if self._status is not None:
            self._status.close()
        self._files.close()
        self._recorder.close()


def open_series(
    job: Job, newest: MutableMapping[str, float], status_token: Path
) -> RunSeries | None:
    """None on the hosts that do not lead, and for a job that keeps nothing."""
    if job.checkpoint_dir is None or not job.is_leader:
        return None
    identity, resume = run_identity(job), read_resume_point(job.checkpoint_dir)
    known = resume is not None and resume.saved_at > 0
    resumed_from = (
        {"step": resume.step, "savedAt": round(resume.saved_at, 3)} if known and resume else None
    )
    attempt = identity.attempt if identity else 1
    recorder = SeriesRecorder(job.checkpoint_dir, attempt, resumed_from)
    return RunSeries(recorder, job, newest, status_token)
