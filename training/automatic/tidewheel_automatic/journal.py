"""The values that a script's Python code has read out of tensors, in order.

A resumed script gets the same values again, so its own counters, branches and loops come right
without computing anything.
"""

from __future__ import annotations

import copy
from typing import Any


class RefusedError(RuntimeError):
    """The script cannot be resumed exactly; the message says why."""


class Journal:
    """Entries are (kind, value). The end of a replay is where the checkpoint was saved."""

    def __init__(self, entries: list[tuple[str, Any]] | None = None) -> None:
        self._entries = entries or []
        self._next = 0

    @property
    def is_replaying(self) -> bool:
        return self._next < len(self._entries)

    def record(self, kind: str, value: Any) -> None:
        self._entries.append((kind, value))
        self._next = len(self._entries)

    def replay(self, kind: str) -> Any:
        if not self.is_replaying:
            raise RefusedError(f"the script reads more than before the checkpoint ({kind})")
        recorded, value = self._entries[self._next]
        if recorded != kind:
            raise RefusedError(
                f"the script did not take the path of its first run: it asks for {kind}, "
                f"where it read {recorded} before; look for a clock or an unseeded choice"
            )
        self._next += 1
        return copy.deepcopy(value) if isinstance(value, list) else copy.copy(value)

    def entries(self) -> list[tuple[str, Any]]:
        return self._entries
