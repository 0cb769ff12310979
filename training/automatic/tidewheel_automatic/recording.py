"""What loaders and PyTorch's functions ask of the session that records or replays them."""

from __future__ import annotations

from typing import Protocol

from .draws import Draws
from .journal import Journal
from .nesting import Nesting


class Recording(Protocol):
    journal: Journal
    nesting: Nesting
    draws: Draws
    has_begun: bool
    is_replaying: bool

    @property
    def is_active(self) -> bool:
        """Whether a read of a tensor is the script's own, in the training loop's thread."""

    @property
    def is_recording(self) -> bool:
        """Whether reads and batches have to be in the journal."""

    def may_read(self, size: int) -> bool:
        """Counts what comes into the journal; gives up when it is too much."""

    def before_batch(self) -> None: ...
