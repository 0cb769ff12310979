"""From where a resumed script goes on, and which logged points it will log again."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tidewheel_contract.documents import ProgressNote
from tidewheel_contract.reading import path_in

from ..checkpoints.checkpoint import find_last_checkpoint
from ..checkpoints.frameworks import FrameworkCheckpoints
from ..files import read_document

_CLOCK_SECONDS = 1.0
"""Between a point's time, which may be whole seconds, and the checkpoint's."""
OWN_NAMES = "tidewheel-"
"""Files of the agent in the checkpoint folder begin so. None is a checkpoint."""


@dataclass(frozen=True)
class ResumePoint:
    """The checkpoint from which the script goes on, and between which times it was written."""

    step: int
    after: float
    """Unix seconds, by the clock of the host that saved it."""
    saved_at: float

    def last_before_resume(self, points: Iterable[tuple[float, float]]) -> float:
        """The last position of a series that will not be logged again.

        `points` are position and Unix seconds of each. The series may count something else than
        the checkpoint, such as epochs, so the checkpoint's step decides only where the series
        stood about there when the checkpoint was written; else the time does.
        """
        before, at_end, soon_after = -1.0, -1.0, -1.0
        for position, at in points:
            if at <= self.saved_at:
                at_end = max(at_end, position)
            # A file's time is up to a tick of the kernel behind the clock.
            if at <= self.saved_at + _CLOCK_SECONDS:
                soon_after = max(soon_after, position)
            if at <= self.after:
                before = max(before, position)
        return float(self.step) if before <= self.step <= soon_after else at_end


BEGINNING = ResumePoint(0, float("-inf"), float("-inf"))


def read_resume_point(folder: Path) -> ResumePoint | None:
    """None if the folder holds something unknown, from which the script may resume."""
    newest = find_last_checkpoint(folder) or FrameworkCheckpoints(folder).find_last()
    noted = _noted(folder)
    if newest is not None and (noted is None or noted.step < newest.step):
        # The host was lost before its agent saw this one; a download may have changed its time.
        after = noted.saved_at if noted else float("-inf")
        return ResumePoint(newest.step, after, max(after, newest.saved_at))
    if noted is not None:
        return noted
    try:
        names = [path.name.lstrip(".") for path in folder.iterdir()]
    except OSError:
        return None
    return BEGINNING if all(name.startswith(OWN_NAMES) for name in names) else None


def _noted(folder: Path) -> ResumePoint | None:
    note = read_document(ProgressNote, path_in(folder, ProgressNote))
    if note is None:
        return None
    try:
        saved_at = datetime.fromisoformat(note.updated_at.replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError):
        return None
    begun_at = saved_at - (note.save_seconds or 0.0) - _CLOCK_SECONDS
    return ResumePoint(note.step, begun_at, saved_at)
