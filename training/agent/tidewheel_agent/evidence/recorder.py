"""Writes a point every ten seconds, and the phases of the start, beside the checkpoints.

`tidewheel-evidence/<attempt>-<host>.jsonl` only grows; the doctor reads it.
"""

import re
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tidewheel_contract import documents
from tidewheel_contract.reading import line_of, path_in, read

from ..configuration.job import Job
from ..files import append_line, read_document, write_document
from ..log import iso, log
from ..metrics.counters import Reading
from .cells import (
    ProcessCounts,
    busiest_line,
    forward_line,
    read_counts,
    remedy_lines,
    remove_ended,
    removed_hook,
    step_seconds,
)
from .host_state import cpu_seconds, read_memory, run_queue, waits_for_cores
from .point import Between, Look, Place, point_between, quantile

_TEN_SECONDS = 9.75
"""The looks come every second, more or less."""
_FINE_SECONDS, _MINUTE = 6 * 3600.0, 59.5
"""After six hours a point stands for a minute, and after two days for ten: 28 days take 6 MB."""
_COARSE_SECONDS, _TEN_MINUTES = 48 * 3600.0, 599.5

_METRICS = {
    "samplesPerSecond": "samples_per_second",
    "stepSeconds": "step_seconds",
    "stepSecondsP95": "step_seconds_p95",
}

_SKIP_WARN_SECONDS = 60.0

Hooks = Literal["on", "declined"]


@dataclass(frozen=True)
class Start:
    """How this host came to its script. `at`: Unix seconds; `script_at`: of the monotonic clock."""

    at: float
    script_at: float
    install_seconds: float
    download_seconds: float | None
    hooks: Hooks
    resumes: bool = False
    """A checkpoint is there."""


def evidence_file(folder: Path, kind: type[documents.Document], attempt: int, host: str) -> Path:
    name = re.sub(r"[^A-Za-z0-9._-]", "_", host)[:100]
    return path_in(folder, kind, attempt=attempt, host=name)


def tell_installation(job: Job, attempt: int, what: str, packages: int) -> None:
    """Tells the service what pip is at, in the document that the first step completes.

    A host without a checkpoint folder reports nothing.
    """
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


class EvidenceRecorder:
    """The thread that reads the counters calls `observe` with each reading."""

    def __init__(
        self, folder: Path | None, attempt: int, host: str, place: Place, cells: Path, start: Start
    ) -> None:
        """`folder`: of the checkpoints; None: only the pace is measured. `cells`: of the hooks."""
        self._points = folder and evidence_file(folder, documents.EvidencePoint, attempt, host)
        self._phases = folder and evidence_file(folder, documents.HostStart, attempt, host)
        self._place = place
        self._cells = cells
        self._start = start
        self._began_at: float | None = None
        self._before: Look | None = None
        self._queue: list[int] = []
        self._gpu: list[float] = []
        self._told: documents.HostStart | None = None
        self._usual_batches = _batches_of_first_start(folder, attempt) if folder else 0.0
        self.skipped_seconds = 0.0
        """In which a resumed script read again, beyond what the run's first start read."""
        self.pace_of_minute, self.pace_of_note = Pace(), Pace()

    def observe(self, reading: Reading) -> None:
        """Raises OSError and ValueError where /proc is not Linux's."""
        if self._before is None:
            self._began_at = reading.at
            self._before = self._look(reading)
            self._tell_start(self._before.processes)
            return
        if (waiting := run_queue()) is not None:
            self._queue.append(waiting)
        if reading.gpu_percent is not None:
            self._gpu.append(reading.gpu_percent / 100)
        if reading.at - self._before.reading.at >= self._interval(reading.at):
            self._take(reading)

    def close(self, reading: Reading) -> None:
        """The last seconds: what they hold is a point, however short."""
        if self._before is not None and reading.at - self._before.reading.at >= 1.0:
            self._take(reading)

    def minute(self) -> dict[str, float]:
        """For the log line that SageMaker's metric definitions read."""
        values = self.pace_of_minute.take()
        return {_METRICS[name]: value for name, value in values.items() if name in _METRICS}

    def _interval(self, now: float) -> float:
        age = now - (self._began_at or now)
        if age < _FINE_SECONDS:
            return _TEN_SECONDS
        return _MINUTE if age < _COARSE_SECONDS else _TEN_MINUTES

    def _take(self, reading: Reading) -> None:
        assert self._before is not None
        before, after = self._before, self._look(reading)
        durations = self._durations(before, after)
        between = Between(
            durations,
            _mean(self._queue) or 0.0,
            _mean(self._gpu),
            busiest_line(self._cells, after.cpu_seconds),
            forward_line(self._cells, after.cpu_seconds),
        )
        point = point_between(before, after, between, self._place)
        self._before, self._queue, self._gpu = after, [], []
        if self._points is not None:
            append_line(self._points, line_of(point))
        self._tell_start(after.processes)
        seconds = after.reading.at - before.reading.at
        for pace in (self.pace_of_minute, self.pace_of_note):
            samples = None if point.samples is None else round(point.samples)
            pace.add(seconds, point.steps, samples, durations)
        remove_ended(self._cells, [each for each in after.processes if not each.is_trainer])

    def _look(self, reading: Reading) -> Look:
        processes = read_counts(self._cells, reading.at)
        cpu = {
            each.pid: seconds
            for each in processes
            if each.is_trainer and (seconds := cpu_seconds(each.pid)) is not None
        }
        waits = {pid: waits_for_cores(pid) for pid in cpu}
        return Look(reading, read_memory(), processes, cpu, waits)

    def _note_skipped(self, batches: float) -> None:
        if not self._start.resumes:
            return
        before = self.skipped_seconds
        self.skipped_seconds = max(before, batches - self._usual_batches)
        if before < _SKIP_WARN_SECONDS <= self.skipped_seconds:
            log(
                f"WARNING: the script has read batches for {self.skipped_seconds:.0f} s since it "
                "resumed, and made no step: it skips what it had read by reading it again"
            )

    def _durations(self, before: Look, after: Look) -> list[float]:
        steps = {each.pid: each.steps for each in before.processes}
        return [
            seconds
            for each in after.processes
            if each.steps > steps.get(each.pid, 0)
            for seconds in step_seconds(self._cells, each.pid, steps.get(each.pid, 0), each.steps)
        ]

    def _tell_start(self, processes: Sequence[ProcessCounts]) -> None:
        """Writes the phases and the script's lines as they become known, and what became of the
        hooks."""
        removed = removed_hook(self._cells)
        hooks = documents.HostStartHooks(kind=self._start.hooks)
        if removed is not None:
            hooks = documents.HostStartHooks(kind="removed", **removed)
        trainers = [each.pid for each in processes if each.is_trainer]
        batches = max(
            (each.batches_before_step for each in processes if each.is_trainer), default=0.0
        )
        self._note_skipped(batches)
        document = documents.HostStart(
            started_at=iso(self._start.at),
            phases=_phases(self._start, processes),
            hooks=hooks,
            lines=read(documents.HostStartLines, remedy_lines(self._cells, trainers)),
            batches_before_step=round(batches, 1),
            skipped=round(self.skipped_seconds, 1) if self._start.resumes else None,
        )
        if document == self._told:
            return
        if removed is not None and (self._told is None or self._told.hooks != hooks):
            log(f"WARNING: the script runs on unmeasured: {removed['hook']}: {removed['reason']}")
        self._told = document
        if self._phases is not None:
            self._phases.parent.mkdir(parents=True, exist_ok=True)
            write_document(self._phases, document)


def _batches_of_first_start(folder: Path, attempt: int) -> float:
    """Such as those of a look at the validation data, which each start takes."""
    for earlier in range(1, attempt):
        found = [
            start.batches_before_step
            for path in folder.glob(documents.HostStart.FILE.format(attempt=earlier, host="*"))
            if (start := read_document(documents.HostStart, path)) is not None
            and start.batches_before_step is not None
        ]
        if found:
            return max(found)
    return 0.0


def _phases(start: Start, processes: Sequence[ProcessCounts]) -> documents.HostStartPhases:
    """Of the process that came to its first step last. A script without a loader asks for no
    batch: its whole way to the first step is `script_start`."""
    trainers = [each for each in processes if each.is_trainer]
    last = max(trainers, key=lambda each: (each.first_step, each.got_first_batch), default=None)
    asked, got, step = (
        (last.asked_first_batch, last.got_first_batch, last.first_step) if last else (0.0, 0.0, 0.0)
    )
    began = start.script_at
    return documents.HostStartPhases(
        download=start.download_seconds,
        install=round(start.install_seconds, 3),
        script_start=_between(began, asked or step),
        first_batch=_between(asked, got) if asked else _between(step, step),
        first_step=_between(got or asked, step) if asked else _between(step, step),
    )


def _between(begin: float, end: float) -> float | None:
    return round(max(0.0, end - begin), 3) if end else None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


_MOST_STEPS = 4096


@dataclass
class _Sums:
    seconds: float = 0.0
    steps: int = 0
    samples: int | None = 0
    """None once an interval did not tell them."""
    durations: deque[float] = field(default_factory=lambda: deque(maxlen=_MOST_STEPS))


class Pace:
    """Filled by the thread that measures, emptied by the one that reports."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums = _Sums()

    def add(
        self, seconds: float, steps: int, samples: int | None, durations: Sequence[float]
    ) -> None:
        if steps == 0:
            return
        with self._lock:
            sums = self._sums
            sums.seconds += seconds
            sums.steps += steps
            known = samples is not None and sums.samples is not None
            sums.samples = (sums.samples or 0) + (samples or 0) if known else None
            sums.durations.extend(durations)

    def take(self) -> dict[str, float]:
        """Means since the last call, by name; empty where no step was seen."""
        with self._lock:
            sums, self._sums = self._sums, _Sums()
        if sums.steps == 0:
            return {}
        values = {"stepsPerSecond": round(sums.steps / sums.seconds, 4)}
        if sums.samples is not None:
            values["samplesPerSecond"] = round(sums.samples / sums.seconds, 4)
        if sums.durations:
            values["stepSeconds"] = round(quantile(sums.durations, 0.5), 6)
            values["stepSecondsP95"] = round(quantile(sums.durations, 0.95), 6)
        return values
