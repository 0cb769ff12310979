"""The progress that the script prints: `tidewheel step=120 total=480 loss=0.1234`."""

import math
import re
import time
from dataclasses import dataclass, field

from ..declared_pattern import DeclaredPattern

_LONGEST_LINE = 2000
_TIDEWHEEL_LINE = re.compile(
    r"(?:^|\s)tidewheel ((?:[A-Za-z_][A-Za-z0-9_.-]{0,63}=\S{1,40}(?:\s+|$))+)"
)

_REPLAY = re.compile(r"(?:\S+ )?tidewheel: (?:(resuming: steps 1 to )|restored after step )\d+")


@dataclass
class LogProgress:
    """The newest values in the script's output.

    `pattern` reads the lines of scripts that do not know Tidewheel: its named groups are `step`,
    `total` and any metric.
    """

    pattern: DeclaredPattern | None = None
    step: int | None = None
    total: int | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    replays_since: float = 0.0
    """Unix seconds at which automatic checkpoints began to go through the saved steps again; 0.0
    before. `replayed_until`: when they had; infinite on the way."""
    replayed_until: float = 0.0
    save_seconds: float | None = None
    """How long the last save held up training, from scripts that use `tidewheel.saving`."""

    @property
    def replay_seconds(self) -> float:
        return min(time.time(), self.replayed_until) - self.replays_since

    @property
    def is_replaying(self) -> bool:
        return math.isinf(self.replayed_until)

    def is_of_replay(self, at: float) -> bool:
        return self.replays_since <= at <= self.replayed_until

    def read_line(self, line: str) -> None:
        line = line[:_LONGEST_LINE]
        if (hooks := _REPLAY.match(line)) and hooks[1]:
            self.replays_since = self.replays_since or time.time()
            self.replayed_until = math.inf
        elif hooks:
            self.replayed_until = time.time()
        match = _TIDEWHEEL_LINE.search(line)
        if match:
            self._read_pairs(dict(pair.split("=", 1) for pair in match[1].split()))
        elif self.pattern is not None and (found := self.pattern.search(line)):
            self._read_pairs({name: text for name, text in found.items() if text})

    def _read_pairs(self, pairs: dict[str, str]) -> None:
        for name, text in pairs.items():
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
