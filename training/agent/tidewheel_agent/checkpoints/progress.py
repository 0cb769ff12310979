"""Progress: work that a checkpoint proves done. The service judges attempts by this one file."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..log import iso, iso_now, say
from .checkpoint import Checkpoint, newest_complete, numbers
from .frameworks import UNKNOWN_STEP, Layouts
from .save_duration import save_seconds

PROGRESS_FILE = "tidewheel-progress.json"
_LONGEST_READ = 2000
_LINE = re.compile(r"(?:^|\s)tidewheel ((?:[A-Za-z_][A-Za-z0-9_.-]{0,63}=\S{1,40}(?:\s+|$))+)")


@dataclass
class LogProgress:
    """What the script's own lines say: `tidewheel step=120 total=480 loss=0.1234`.

    `pattern` reads other scripts' lines: named groups `step`, `total`, and any metric.
    """

    pattern: re.Pattern[str] | None = None
    step: int | None = None
    total: int | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    save_seconds: float | None = None
    """How long the last save held training up, where the script says so (`tidewheel.saving`)."""

    def read_line(self, line: str) -> None:
        line = line[:_LONGEST_READ]
        match = _LINE.search(line)
        if match:
            self._take(dict(pair.split("=", 1) for pair in match[1].split()))
        elif self.pattern is not None and (own := self.pattern.search(line)):
            self._take({name: text for name, text in own.groupdict().items() if text})

    def _take(self, said: dict[str, str]) -> None:
        for name, text in said.items():
            try:
                value = float(text.replace(",", ""))
            except ValueError:
                continue
            if not math.isfinite(value):
                continue
            if name == "step":
                self.step = int(value)
            elif name == "total":
                self.total = int(value)
            elif name == "save_seconds":
                self.save_seconds = value
            else:
                self.metrics[name] = value


class ProgressReporter:
    """Watches the checkpoint folder; on the leader writes the progress file after each new one.

    `elsewhere`: the newest checkpoint of another host, where it is that one's script that saves;
    on that host `tell` passes it on.
    """

    def __init__(
        self,
        folder: Path | None,
        *,
        leader: bool,
        log: LogProgress,
        elsewhere: Callable[[], Checkpoint | None] = lambda: None,
        tell: Callable[[Checkpoint], None] = lambda checkpoint: None,
    ) -> None:
        self._elsewhere = elsewhere
        self._tell = tell
        self._folder = folder
        self._leader = leader
        self._log = log
        self._started_at: float | None = None
        self._usage: Callable[[], dict[str, float]] = dict
        self._seconds_before, self._before_step = _read_before(folder)
        self._layouts = Layouts()
        self._unnumbered = self._before_step or 0
        self._told: Checkpoint | None = None
        self.newest: Checkpoint | None = None
        self.save_seconds: float | None = None
        """Mean time of a save, the last ones counting most; None while none has been seen."""
        self.newest = self._find(is_first_look=True)
        if self.newest:
            say(f"resumable from {self.newest.name}, step {self.newest.step}")

    def script_started(self, unix_seconds: float) -> None:
        self._started_at = unix_seconds

    def measured_by(self, usage: Callable[[], dict[str, float]]) -> None:
        """How busy this host is: what the service forecasts other topologies from."""
        self._usage = usage

    def look(self) -> Checkpoint | None:
        """Looks for a newer complete checkpoint and tells of it; returns the newest known."""
        newest = self._find()
        other = self._elsewhere() if self._leader and self._folder is not None else None
        if other is not None and (newest is None or newest.step < other.step):
            newest = other
        if newest is None or newest == self._told:
            return self.newest
        is_new = self.newest is None or newest.step != self.newest.step
        if newest is not other:
            self._measure(newest)
        self.newest = self._told = newest
        if self._leader:
            self._write(newest)
        elif is_new:
            self._tell(newest)
        if is_new:
            total = f" of {newest.total_steps}" if newest.total_steps else ""
            say(f"checkpoint {newest.name} is complete: step {newest.step}{total} is safe")
        return newest

    def _measure(self, newest: Checkpoint) -> None:
        """What the script says of its save goes before what the files tell."""
        if self._folder is None or self._started_at is None:
            return
        if newest.saved_at < self._started_at:
            return
        since = max(self._started_at, self._told.saved_at if self._told else 0.0)
        took = self._log.save_seconds
        if took is None:
            took = save_seconds(self._folder, newest, since)
        if took is not None:
            mean = self.save_seconds
            self.save_seconds = took if mean is None else 0.7 * mean + 0.3 * took

    def _find(self, *, is_first_look: bool = False) -> Checkpoint | None:
        """Our own layout is proof by itself; others count where there is none of ours."""
        if self._folder is None:
            return None
        own = newest_complete(self._folder)
        if own is not None:
            return own
        other = self._layouts.newest(self._folder)
        if other is None or other.step != UNKNOWN_STEP:
            return other
        if is_first_look:
            return replace(other, step=self._unnumbered)
        return self._number(other)

    def _number(self, checkpoint: Checkpoint) -> Checkpoint:
        """A checkpoint that hides its step still proves that work was done: the log's step, or
        one more than the last."""
        told = self._told or self.newest
        same = told is not None and (told.name, told.saved_at) == (
            checkpoint.name,
            checkpoint.saved_at,
        )
        if same and told is not None:
            return told
        self._unnumbered = self._log.step or self._unnumbered + 1
        return replace(checkpoint, step=self._unnumbered)

    def _training_seconds(self, checkpoint: Checkpoint) -> float:
        if checkpoint.training_seconds is not None:
            return checkpoint.training_seconds
        if self._started_at is None or checkpoint.step == self._before_step:
            return self._seconds_before
        return self._seconds_before + max(0.0, checkpoint.saved_at - self._started_at)

    def _write(self, checkpoint: Checkpoint) -> None:
        assert self._folder is not None
        document: dict[str, object] = {
            "step": checkpoint.step,
            # 0 stands for "nobody said".
            "totalSteps": checkpoint.total_steps or self._log.total or 0,
            "trainingSeconds": round(self._training_seconds(checkpoint), 3),
            **({"usage": usage} if (usage := self._usage()) else {}),
            "metrics": {**self._log.metrics, **checkpoint.metrics},
            "checkpoint": checkpoint.name,
            "updatedAt": iso(checkpoint.saved_at) if checkpoint.saved_at else iso_now(),
        }
        if self.save_seconds is not None:
            document["saveSeconds"] = round(self.save_seconds, 3)
        write_whole(self._folder / PROGRESS_FILE, json.dumps(document, sort_keys=True) + "\n")


def _read_before(folder: Path | None) -> tuple[float, int | None]:
    """Seconds and step that earlier attempts reported."""
    if folder is None:
        return 0.0, None
    try:
        said = json.loads((folder / PROGRESS_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return 0.0, None
    values = numbers(said)
    step = values.get("step")
    return max(0.0, values.get("trainingSeconds", 0.0)), None if step is None else int(step)


def write_whole(path: Path, text: str) -> None:
    """A reader sees the old file or the new one, never a part; survives a crash of the host."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        say(f"cannot write {path.name}: {error}")
        with contextlib.suppress(OSError):
            temporary.unlink()
