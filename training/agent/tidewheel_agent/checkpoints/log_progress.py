"""The progress that the script prints: `tidewheel step=120 total=480 loss=0.1234`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from ..declared_pattern import DeclaredPattern

_LONGEST_LINE = 2000
_TIDEWHEEL_LINE = re.compile(
    r"(?:^|\s)tidewheel ((?:[A-Za-z_][A-Za-z0-9_.-]{0,63}=\S{1,40}(?:\s+|$))+)"
)


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
    save_seconds: float | None = None
    """How long the last save held up training, from scripts that use `tidewheel.saving`."""

    def read_line(self, line: str) -> None:
        line = line[:_LONGEST_LINE]
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
