"""The progress note: work that a checkpoint proves done. The service judges attempts by it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ..files import write_atomically
from ..log import iso, iso_now, log
from .checkpoint import Checkpoint, find_last_checkpoint, finite_numbers
from .frameworks import UNKNOWN_STEP, FrameworkCheckpoints
from .log_progress import LogProgress
from .save_duration import save_duration

PROGRESS_FILE = "tidewheel-progress.json"
_WEIGHT_OF_LAST_SAVE = 0.3


class ProgressReporter:
    """Watches the checkpoint folder; the leader's reporter writes the note for each new checkpoint.

    The script of another host may be the one that saves. There `send` tells the leader of each
    checkpoint, and on the leader `peer_checkpoint` returns the newest of those.
    """

    def __init__(
        self,
        folder: Path | None,
        *,
        leader: bool,
        log_progress: LogProgress,
        peer_checkpoint: Callable[[], Checkpoint | None] = lambda: None,
        send: Callable[[Checkpoint], None] = lambda checkpoint: None,
    ) -> None:
        self._peer_checkpoint = peer_checkpoint
        self._send = send
        self._folder = folder
        self._leader = leader
        self._log_progress = log_progress
        self._started_at: float | None = None
        self._usage_means: Callable[[], dict[str, float]] = dict
        self._earlier_seconds, self._earlier_step = _read_note(folder)
        self._frameworks = FrameworkCheckpoints()
        self._counted_step = self._earlier_step or 0
        """The step given to checkpoints whose own step is unknown."""
        self._reported: Checkpoint | None = None
        self.newest: Checkpoint | None = None
        self.save_seconds: float | None = None
        """Mean duration of a save, weighted towards the last ones; None before the first."""
        self.newest = self._find(is_first_look=True)
        if self.newest:
            log(f"resumable from {self.newest.name}, step {self.newest.step}")

    def script_started(
        self, unix_seconds: float, usage_means: Callable[[], dict[str, float]]
    ) -> None:
        """`usage_means`: how busy this host is; the service forecasts other topologies from it."""
        self._started_at = unix_seconds
        self._usage_means = usage_means

    def check(self) -> Checkpoint | None:
        """Looks for a new complete checkpoint and reports it; returns the newest one known."""
        newest = self._find()
        peer = self._peer_checkpoint() if self._leader and self._folder is not None else None
        if peer is not None and (newest is None or newest.step < peer.step):
            newest = peer
        if newest is None or newest == self._reported:
            return self.newest
        is_new_step = self.newest is None or newest.step != self.newest.step
        if newest is not peer:
            self._measure_save(newest)
        self.newest = self._reported = newest
        if self._leader:
            self._write_note(newest)
        elif is_new_step:
            self._send(newest)
        if is_new_step:
            total = f" of {newest.total_steps}" if newest.total_steps else ""
            log(f"checkpoint {newest.name} is complete: step {newest.step}{total} is safe")
        return newest

    def _measure_save(self, newest: Checkpoint) -> None:
        """The script's own measurement counts; the files' timestamps stand in where it has none."""
        if self._folder is None or self._started_at is None:
            return
        if newest.saved_at < self._started_at:
            return
        since = max(self._started_at, self._reported.saved_at if self._reported else 0.0)
        seconds = self._log_progress.save_seconds
        if seconds is None:
            seconds = save_duration(self._folder, newest, since)
        if seconds is not None:
            weight = 1.0 if self.save_seconds is None else _WEIGHT_OF_LAST_SAVE
            self.save_seconds = (1 - weight) * (self.save_seconds or 0.0) + weight * seconds

    def _find(self, *, is_first_look: bool = False) -> Checkpoint | None:
        """Tidewheel's own layout proves itself; frameworks' checkpoints count where it has none."""
        if self._folder is None:
            return None
        own = find_last_checkpoint(self._folder)
        if own is not None:
            return own
        other = self._frameworks.find_last(self._folder)
        if other is None or other.step != UNKNOWN_STEP:
            return other
        if is_first_look:
            return replace(other, step=self._counted_step)
        return self._count(other)

    def _count(self, checkpoint: Checkpoint) -> Checkpoint:
        """Gives a step to a checkpoint that names none, since it still proves that work was done.

        It is the step in the log, or one more than the last.
        """
        last = self._reported or self.newest
        version = (checkpoint.name, checkpoint.saved_at)
        if last is not None and (last.name, last.saved_at) == version:
            return last
        self._counted_step = self._log_progress.step or self._counted_step + 1
        return replace(checkpoint, step=self._counted_step)

    def _training_seconds(self, checkpoint: Checkpoint) -> float:
        if checkpoint.training_seconds is not None:
            return checkpoint.training_seconds
        if self._started_at is None or checkpoint.step == self._earlier_step:
            return self._earlier_seconds
        return self._earlier_seconds + max(0.0, checkpoint.saved_at - self._started_at)

    def _write_note(self, checkpoint: Checkpoint) -> None:
        assert self._folder is not None
        usage = self._usage_means()
        note: dict[str, object] = {
            "step": checkpoint.step,
            # 0 stands for an unknown total.
            "totalSteps": checkpoint.total_steps or self._log_progress.total or 0,
            "trainingSeconds": round(self._training_seconds(checkpoint), 3),
            **({"usage": usage} if usage else {}),
            "metrics": {**self._log_progress.metrics, **checkpoint.metrics},
            "checkpoint": checkpoint.name,
            "updatedAt": iso(checkpoint.saved_at) if checkpoint.saved_at else iso_now(),
        }
        if self.save_seconds is not None:
            note["saveSeconds"] = round(self.save_seconds, 3)
        write_atomically(self._folder / PROGRESS_FILE, json.dumps(note, sort_keys=True) + "\n")


def _read_note(folder: Path | None) -> tuple[float, int | None]:
    """Training seconds and step that earlier attempts reported."""
    if folder is None:
        return 0.0, None
    try:
        note = json.loads((folder / PROGRESS_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return 0.0, None
    numbers = finite_numbers(note)
    step = numbers.get("step")
    return max(0.0, numbers.get("trainingSeconds", 0.0)), None if step is None else int(step)
