"""A job that is limited to a number of steps (`limits.steps`): when it has made them, and how long
they took.

On a host that shares its machine with others, its own clock tells what time it would be if the host
had the CPUs of its type. The local region writes it (emulators/sagemaker/hosts/host_clocks.py).
"""

import itertools
import struct
import time
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from pathlib import Path

from tidewheel_contract.documents import StepBlocks

from ..checkpoints.log_progress import LogProgress
from ..evidence.cells import ProcessCounts, read_counts, step_ends
from ..evidence.recorder import evidence_file
from ..files import write_document
from ..log import log
from ..trackers.identity import attempt_of
from .host_run import HostRun

_PAIR = struct.Struct("=2d")


class HostClock:
    """Maps moments of the monotonic clock to seconds of the host, as the file has said so far."""

    def __init__(self, path: Path) -> None:
        """Raises OSError where the file is not there, ValueError where it holds no two moments."""
        data = path.read_bytes()
        pairs = list(_PAIR.iter_unpack(data[: len(data) - len(data) % _PAIR.size]))
        if len(pairs) < 2:
            raise ValueError(f"{path} holds {len(pairs)} moments")
        self._moments: list[float] = [moment for moment, _ in pairs]
        self._seconds: list[float] = [seconds for _, seconds in pairs]

    def seconds(self, moment: float) -> float:
        """Between two looks it goes evenly, and outside of them as the monotonic clock."""
        after = bisect_right(self._moments, moment)
        if after == 0:
            return self._seconds[0] + moment - self._moments[0]
        if after == len(self._moments):
            return self._seconds[-1] + moment - self._moments[-1]
        begin, end = self._moments[after - 1], self._moments[after]
        share = (moment - begin) / (end - begin)
        return self._seconds[after - 1] * (1 - share) + self._seconds[after] * share

    def covers(self, moment: float) -> bool:
        """Whether it was kept until then. A keeper that failed leaves a clock that has ended."""
        return moment <= self._moments[-1]


def read_clock(path: Path | None) -> HostClock | None:
    """None where the host goes by the machine's clock."""
    try:
        return None if path is None else HostClock(path)
    except (OSError, ValueError):
        return None


_BLOCKS = 10
_WARM_UP_SHARE = 0.2
"""The first steps compile kernels, fill caches and start loader workers."""
_FIRST_STEPS = 2
_LATE_SECONDS = 2.0
"""On a busy machine its clock is written later than the script ends."""
_TINY = 1e-6
"""Seconds: a step takes time, even where the host's clock was read between two looks."""


@dataclass
class StepLimit:
    """Counts by the hooks, and by the lines that a script prints where its framework has none."""

    run: HostRun
    cells: Path
    printed: LogProgress
    _lines: list[tuple[int, float]] = field(default_factory=list)
    """Steps that were printed, and the moments."""

    def is_reached(self) -> bool:
        most = self.run.job.script.most_steps
        if most is None:
            return False
        self._note_printed()
        state = self.run.gang.state
        if not state.has_trained_enough:
            trainer = self._trainer()
            if max(trainer.steps if trainer else 0, self.printed.step or 0) >= most:
                self.run.gang.send_enough()
        return state.has_trained_enough

    def record(self) -> None:
        """Writes `StepBlocks`, if it stepped."""
        job = self.run.job
        if job.script.most_steps is None or job.checkpoint_dir is None:
            return
        clock = self._whole_clock()
        blocks = self._counted(clock) or self._from_lines(clock)
        if blocks is None:
            return
        path = evidence_file(job.checkpoint_dir, StepBlocks, attempt_of(job), job.current_host)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_document(path, replace(blocks, clock="host" if clock else "machine"))

    def _whole_clock(self) -> HostClock | None:
        """None where it ended before the last step: the rest went by the machine's clock."""
        last = self._last_step()
        until = time.monotonic() + _LATE_SECONDS
        while True:
            clock = read_clock(self.run.settings.host_clock)
            if clock is None or last is None or clock.covers(last):
                return clock
            if time.monotonic() > until:
                break
            time.sleep(0.05)
        log("WARNING: the clock of this host failed: the machine's clock measures the steps")
        return None

    def _last_step(self) -> float | None:
        """Its moment."""
        trainer = self._trainer()
        steps = trainer.steps if trainer else 0
        counted = step_ends(self.cells, trainer.pid, steps - 1, steps) if trainer else []
        printed = [moment for _, moment in self._lines[-1:]]
        return max([*counted[-1:], *printed], default=None)

    def _trainer(self) -> ProcessCounts | None:
        trainers = [each for each in read_counts(self.cells, time.monotonic()) if each.is_trainer]
        return max(trainers, key=lambda each: each.steps, default=None)

    def _note_printed(self) -> None:
        step = self.printed.step
        if step is not None and (not self._lines or step > self._lines[-1][0]):
            self._lines.append((step, time.monotonic()))

    def _counted(self, clock: HostClock | None) -> StepBlocks | None:
        trainer = self._trainer()
        if trainer is None or trainer.steps <= _FIRST_STEPS:
            return None
        skipped = max(_FIRST_STEPS, int(trainer.steps * _WARM_UP_SHARE))
        ends = _by(clock, step_ends(self.cells, trainer.pid, skipped, trainer.steps))
        durations = [max(_TINY, later - earlier) for earlier, later in itertools.pairwise(ends)]
        if not durations:
            return None
        blocks = _blocks(durations)
        return StepBlocks(
            basis="hooks",
            steps=trainer.steps,
            samples_per_step=self._samples_per_step(trainer.steps),
            block_seconds=[_mean(block) for block in blocks],
            block_steps=[len(block) for block in blocks],
        )

    def _samples_per_step(self, steps: int) -> float | None:
        trainers = [each for each in read_counts(self.cells, time.monotonic()) if each.is_trainer]
        trainers = [each for each in trainers if each.steps > 0]
        if not all(each.knows_samples for each in trainers):
            return None
        return round(sum(each.samples for each in trainers) / steps, 4)

    def _from_lines(self, clock: HostClock | None) -> StepBlocks | None:
        lines = self._lines[1:]
        ends = _by(clock, [moment for _, moment in lines])
        pairs = itertools.pairwise(zip(lines, ends, strict=True))
        blocks = [
            (max(_TINY, end - begin) / (step - earlier), step - earlier)
            for ((earlier, _), begin), ((step, _), end) in pairs
        ]
        if not blocks:
            return None
        return StepBlocks(
            basis="printed",
            steps=self._lines[-1][0],
            samples_per_step=None,
            block_seconds=[round(seconds, 6) for seconds, _ in blocks],
            block_steps=[steps for _, steps in blocks],
        )


def _by(clock: HostClock | None, moments: list[float]) -> list[float]:
    return moments if clock is None else [clock.seconds(moment) for moment in moments]


def _blocks(durations: list[float]) -> list[list[float]]:
    """Of equal length, but for one step: means of blocks hold what repeats every few steps."""
    count = min(_BLOCKS, len(durations))
    ends = [round(index * len(durations) / count) for index in range(count + 1)]
    return [durations[begin:end] for begin, end in itertools.pairwise(ends)]


def _mean(values: list[float]) -> float:
    return round(sum(values) / len(values), 6)
