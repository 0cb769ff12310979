"""What one file says of itself."""

from __future__ import annotations

from dataclasses import dataclass

from .step_names import Position


@dataclass(frozen=True)
class Reading:
    """`problem` says why the file is not whole; empty for a whole one."""

    problem: str = ""
    position: Position | None = None
    is_weights_only: bool = False
    """The file holds tensors and nothing else, as released weights do."""

    @property
    def is_whole(self) -> bool:
        return not self.problem
