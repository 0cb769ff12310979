"""The series of the run, from the leader's lines and files to the file beside the checkpoints."""

import math
import time

from tidewheel_contract.documents import SeriesStartResumedFrom

from ..checkpoints.log_progress import LogProgress
from ..configuration.job import Job
from ..series.log_files import LogFiles
from ..series.log_lines import LogLines
from ..series.model_metrics import model_metrics
from ..series.point import Point
from ..series.recorder import SeriesRecorder
from .identity import attempt_of
from .resume_point import read_resume_point


class RunSeries:
    """`log_progress`: its metrics get each new value by its name, for the progress note."""

    def __init__(
        self,
        recorder: SeriesRecorder,
        job: Job,
        log_progress: LogProgress,
        lines: LogLines,
    ) -> None:
        self._recorder = recorder
        self._lines = lines
        self._newest = log_progress.metrics
        self._progress = log_progress
        self._is_replaying = False
        assert job.checkpoint_dir is not None
        self._model = job.base / "model"
        folders = (job.checkpoint_dir, job.code_dir, job.base / "output" / "data")
        self._files = LogFiles(folders, self.add)
        self._files.start()

    def read(self, line: str) -> Point | None:
        was_replaying, self._is_replaying = self._is_replaying, self._progress.is_replaying
        if was_replaying and not self._is_replaying:
            self._files.pass_over()
        point = self._lines.read(line)
        if point is not None:
            self.add("log", point)
        return point

    def add(self, source: str, point: Point) -> None:
        if source != "log" and self._progress.is_of_replay(point.at or time.time()):
            return  # An attempt has measured it.
        for name, value in self._recorder.add(source, point).items():
            if math.isfinite(value):
                self._newest[name] = value
            else:
                self._newest.pop(name, None)

    def furthest(self) -> tuple[float, str]:
        """Where the training stands, by all that it prints and logs."""
        return self._recorder.furthest()

    def close(self) -> None:
        self._files.close()
        self.add("log", self._lines.last())
        values = model_metrics(self._model)
        position, unit = self._recorder.furthest()
        if values:
            self.add("model", Point(position, values, unit=unit))
        self._recorder.close()


def open_series(job: Job, log_progress: LogProgress, lines: LogLines) -> RunSeries | None:
    """None on the hosts that do not lead, and for a job that keeps nothing."""
    if job.checkpoint_dir is None or not job.is_leader:
        return None
    resume = read_resume_point(job.checkpoint_dir)
    resumed_from = None
    if resume is not None and resume.saved_at > 0:
        saved_at = round(resume.saved_at, 3)
        resumed_from = SeriesStartResumedFrom(step=resume.step, saved_at=saved_at)
    attempt = attempt_of(job)
    recorder = SeriesRecorder(job.checkpoint_dir, attempt, resumed_from)
    return RunSeries(recorder, job, log_progress, lines)
