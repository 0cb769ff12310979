"""Notes for the service whether a script that started again went on from its checkpoint.

`tidewheel-resume/attempt-<n>.json` in the checkpoint folder, one file an attempt. On EC2 an attempt
may start several times; the last start counts.
"""

import contextlib
import math
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tidewheel_contract import documents
from tidewheel_contract.documents import SeriesPoint
from tidewheel_contract.reading import parse, path_in

from ..checkpoints.checkpoint import Checkpoint
from ..checkpoints.kept.repair import Repair
from ..checkpoints.log_progress import LogProgress
from ..checkpoints.note import has_started_before, read_note
from ..checkpoints.progress import ProgressReporter
from ..checkpoints.tree import look
from ..configuration.job import Job
from ..files import write_document
from ..log import log
from ..series.point import Point
from ..trackers.identity import attempt_of
from ..trackers.resume_point import OWN_NAMES, read_resume_point

READS = "reads"
"""As in for_scripts/sitecustomize.py."""
_MOST_READ = 100
_SOURCE = "log"
_CLOCK_SECONDS = 1.0


@dataclass(frozen=True)
class Earlier:
    """Positions of one unit (`step` or `epoch`), as the script prints them."""

    first: float
    """Of the run's first start."""
    expected: float
    """Where the script stood when the checkpoint was saved; without one, where it stood last."""
    count: int
    """Of the points up to there. They are two seconds apart at least, so few are little behind."""
    stood: float = 0.0
    """At the last of all points."""


def read_earlier(folder: Path, saved_at: float | None) -> dict[str, Earlier]:
    """By unit. `saved_at`: Unix seconds of the checkpoint that is there, if one is known."""
    points = list(_points(folder))
    found = {}
    for unit in {unit for unit, _, _ in points}:
        own = [(position, at) for u, position, at in points if u == unit]
        limit = float("inf") if saved_at is None else saved_at + _CLOCK_SECONDS
        before = [position for position, at in own if at <= limit]
        if before:
            found[unit] = Earlier(own[0][0], before[-1], len(before), own[-1][0])
    return found


def _points(folder: Path) -> Iterator[tuple[str, float, float]]:
    """Unit, position and Unix seconds, in the order in which they were printed."""
    paths = folder.glob(SeriesPoint.FILE.format(attempt="*"))
    for path in sorted(paths, key=lambda each: (len(each.name), each.name)):
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        for line in lines:
            with contextlib.suppress(ValueError):
                point = parse(SeriesPoint, line)
                if point.source == _SOURCE:
                    yield point.unit, point.position, point.at


_HALF = 0.5
_SLACK = 1.2
_ENOUGH_POINTS = 3


def by_position(
    position: float, unit: str, earlier: Mapping[str, Earlier], resumed: Checkpoint | None
) -> documents.ResumeNoteVerdict | None:
    """From the first position in the log; None where it does not tell.

    A script that begins again prints what the run's first start printed first.
    """
    known = earlier.get(unit)
    stood = max(0.0, known.stood) if known is not None else None
    verdict = partial(documents.ResumeNoteVerdict, evidence="log", position=position, stood=stood)
    expected = _expected(known, unit, resumed) if known is not None else None
    if known is not None and resumed is not None and expected is None:
        # Whatever the checkpoint's number counts: a script that begins again is not so far.
        goes_on = position - known.first >= _HALF * (known.stood - known.first) > 0
        return verdict(kind="resumed", began_at=resumed.step) if goes_on else None
    if known is None or expected is None or expected <= known.first:
        return None
    share = (position - known.first) / (expected - known.first)
    step = float(resumed.step) if resumed is not None else expected
    if position <= known.first:
        return verdict(kind="beganAgain", began_at=0.0)
    if resumed is None or share >= _HALF:
        return verdict(kind="resumed", began_at=min(1.0, share) * step)
    return verdict(kind="beganAgain", began_at=round(share * step))


def _expected(known: Earlier, unit: str, resumed: Checkpoint | None) -> float | None:
    """None where the printed steps count something else than the checkpoint's, such as the batches
    of an epoch."""
    if resumed is None or unit != "step" or resumed.unit != "step":
        return known.expected
    if known.expected > _SLACK * resumed.step:
        return None
    if known.expected < _HALF * resumed.step and known.count >= _ENOUGH_POINTS:
        return None
    return max(known.expected, resumed.step)


def by_checkpoint(
    saved: Checkpoint, resumed: Checkpoint, *, seconds: float, steps_per_second: float | None
) -> documents.ResumeNoteVerdict | None:
    """From the first checkpoint of this start, `seconds` after it; None where it does not tell.

    `steps_per_second`: the pace of earlier starts.
    """
    if "saves" in (saved.unit, resumed.unit) or saved.unit != resumed.unit or resumed.step <= 0:
        return None
    verdict = partial(documents.ResumeNoteVerdict, evidence="checkpoint", position=saved.step)
    done = (steps_per_second or 0.0) * seconds
    if saved.step > resumed.step:
        # So much may also have been done since the beginning.
        if done >= saved.step - _HALF * resumed.step:
            return None
        return verdict(kind="resumed", began_at=resumed.step)
    if saved.step == resumed.step and done < _HALF * saved.step:
        # Some scripts save what they have just read.
        return None
    return verdict(kind="beganAgain", began_at=0.0)


@dataclass(frozen=True)
class Resumed:
    """What was there at the start."""

    checkpoint: Checkpoint | None
    repairs: Sequence[Repair]
    earlier: dict[str, Earlier]
    steps_per_second: float | None
    others: Sequence[Checkpoint] = ()
    """All that were whole."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """What the script read of the files that were there."""
    uncounted: str = ""


class ResumeProof:
    """Points come from the thread that reads the output, checkpoints from the loop that looks.

    `reads`: where the script's processes note what they read; `log_progress` knows of replays.
    """

    def __init__(
        self, path: Path, resumed: Resumed, reads: Path, log_progress: LogProgress
    ) -> None:
        self._path = path
        self._reads = reads
        self._log_progress = log_progress
        self._seen: tuple[object, ...] = ()
        self._resumed = resumed
        self._started_at = time.time()
        self._lock = threading.Lock()
        self._has_position = False
        self.verdict: documents.ResumeNoteVerdict | None = None
        self._write()

    def add(self, point: Point) -> None:
        """The first point of a unit that earlier starts printed, too."""
        is_first = not self._has_position and not point.is_of_start
        if not is_first or point.unit not in self._resumed.earlier:
            return
        self._has_position = True
        earlier = self._resumed.earlier
        self._decide(by_position(point.position, point.unit, earlier, self._loaded()))

    def saw_checkpoint(self, saved: Checkpoint | None) -> None:
        """The first checkpoint of this start; None while there is none."""
        resumed = self._loaded()
        seen = (resumed, tuple(self._read()), self._log_progress.replayed_until)
        if seen != self._seen:
            self._seen = seen
            with self._lock:
                self._write()
        if self.verdict is not None or saved is None or resumed is None:
            return
        seconds = max(0.0, saved.saved_at - self._started_at)
        pace = self._resumed.steps_per_second
        self._decide(by_checkpoint(saved, resumed, seconds=seconds, steps_per_second=pace))

    def _read(self) -> list[str]:
        """The files that were there and that the script read."""
        with contextlib.suppress(OSError):
            text = (self._reads / READS).read_text(encoding="utf-8", errors="replace")
            names = dict.fromkeys(text.splitlines())
            return [name for name in names if name in self._resumed.sizes][:_MOST_READ]
        return []

    def _loaded(self) -> Checkpoint | None:
        """The newest one, unless the script has read another, and not this one."""
        newest, names = self._resumed.checkpoint, set(self._read())
        if newest is None or not names.isdisjoint(newest.files):
            return newest
        read = [each for each in self._resumed.others if not names.isdisjoint(each.files)]
        return max(read, key=lambda each: (each.step, each.saved_at), default=newest)

    def _decide(self, verdict: documents.ResumeNoteVerdict | None) -> None:
        with self._lock:
            if verdict is None or self.verdict is not None:
                return
            self.verdict = verdict
            self._write()
        checkpoint = self._loaded()
        if verdict.kind == "beganAgain" and checkpoint is not None:
            log(
                f"WARNING: the script began at {checkpoint.unit} {verdict.began_at:g}, although "
                f"{checkpoint.name} was there ({checkpoint.unit} {checkpoint.step}): it has to "
                "load its newest checkpoint when it starts"
            )

    def _write(self) -> None:
        checkpoint, verdict, replay = self._loaded(), self.verdict, self._log_progress
        sizes = self._resumed.sizes
        read = [documents.ResumeNoteRead(name=name, bytes=sizes[name]) for name in self._read()]
        has_replayed = 0.0 < replay.replayed_until < math.inf
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
            verdict=verdict,
            read=read or None,
            replay_seconds=round(replay.replay_seconds, 1) if has_replayed else None,
            uncounted=self._resumed.uncounted[:500] or None,
        )
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_document(self._path, note)


def open_resume_proof(
    job: Job,
    progress: ProgressReporter,
    repairs: Sequence[Repair],
    reads: Path,
    log_progress: LogProgress,
) -> ResumeProof | None:
    """Before the script starts. None on hosts that do not lead, and for the run's first start."""
    folder, newest = job.checkpoint_dir, progress.newest
    if folder is None or not job.is_leader or not (has_started_before(folder) or newest):
        return None
    point, note = read_resume_point(folder), read_note(folder)
    saved_at = point.saved_at if point is not None and newest is not None else None
    pace = note.step / note.training_seconds if note.step and note.training_seconds > 0 else None
    sizes = {name: state.size_bytes for name, state in look(folder).root.all_files()}
    resumed = Resumed(
        newest,
        repairs,
        read_earlier(folder, saved_at),
        pace,
        progress.whole,
        {name: size for name, size in sizes.items() if not name.startswith(OWN_NAMES)},
        progress.uncounted,
    )
    path = path_in(folder, documents.ResumeNote, attempt=attempt_of(job))
    try:
        return ResumeProof(path, resumed, reads, log_progress)
    except OSError as error:
        log(f"cannot note how the script resumes: {error}")
        return None
