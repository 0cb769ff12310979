"""What the agent asks of the hooks, from the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Options:
    root: Path
    """TIDEWHEEL_AUTOMATIC_DIR: the folder of the checkpoints."""
    seconds: float
    """TIDEWHEEL_CHECKPOINT_SECONDS: least time between two saves; they also take at most 1 %."""
    every_steps: int
    """TIDEWHEEL_AUTOMATIC_STEPS: saves at each multiple instead, for trials and tests."""
    request_files: tuple[str, ...]
    """The agent's stop and save files."""
    rank: int
    ranks: int
    first_here: int
    """The first of the ranks on this host."""
    ranks_here: int
    trial: Path | None
    """TIDEWHEEL_AUTOMATIC_TRIAL: where to save once for the trial; None without one."""
    trial_seconds: float
    """TIDEWHEEL_AUTOMATIC_TRIAL_SECONDS: from the first step to the trial's checkpoint."""
    verdict_seconds: float
    """TIDEWHEEL_AUTOMATIC_VERDICT_SECONDS: how long checkpoints wait for the trial's verdict."""
    scratch: Path | None
    """TIDEWHEEL_AUTOMATIC_SCRATCH: this is the trial's second process, which may write there."""
    protected: tuple[str, ...]
    """TIDEWHEEL_AUTOMATIC_PROTECTED: folders and files that the second process may not touch."""

    @property
    def first_rank(self) -> int:
        """The one whose file holds what all ranks hold alike."""
        return self.first_here if self.scratch else 0

    @property
    def files(self) -> int:
        """Of a whole checkpoint, one a rank. The hosts of a trial share no folder."""
        return self.ranks_here if self.scratch else self.ranks


def read_options() -> Options:
    get = os.environ.get
    requests = (get("TIDEWHEEL_STOP_FILE"), get("TIDEWHEEL_SAVE_FILE"))
    trial, scratch = get("TIDEWHEEL_AUTOMATIC_TRIAL"), get("TIDEWHEEL_AUTOMATIC_SCRATCH")
    return Options(
        root=Path(os.environ["TIDEWHEEL_AUTOMATIC_DIR"]),
        seconds=float(get("TIDEWHEEL_CHECKPOINT_SECONDS") or 10.0),
        every_steps=int(get("TIDEWHEEL_AUTOMATIC_STEPS") or 0),
        request_files=tuple(path for path in requests if path),
        rank=int(get("RANK") or 0),
        ranks=int(get("WORLD_SIZE") or 1),
        first_here=int(get("RANK") or 0) - int(get("LOCAL_RANK") or 0),
        ranks_here=int(get("LOCAL_WORLD_SIZE") or 1),
        trial=Path(trial) if trial else None,
        trial_seconds=float(get("TIDEWHEEL_AUTOMATIC_TRIAL_SECONDS") or 5.0),
        verdict_seconds=float(get("TIDEWHEEL_AUTOMATIC_VERDICT_SECONDS") or 60.0),
        scratch=Path(scratch) if scratch else None,
        protected=tuple((get("TIDEWHEEL_AUTOMATIC_PROTECTED") or os.devnull).split(os.pathsep)),
    )
