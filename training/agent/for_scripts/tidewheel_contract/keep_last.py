"""The one rule by which checkpoints go, of `tidewheel.save`, of hooks and of a pattern."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def superseded(
    oldest_first: Sequence[T], keep: int, is_whole: Callable[[T], bool] = lambda _: True
) -> list[T]:
    """A whole checkpoint goes once `keep` newer ones are whole, and one that a kill has cut off
    once a newer one is whole. The oldest first."""
    going, newer = [], 0
    for each in reversed(oldest_first):
        if newer >= (keep if is_whole(each) else 1):
            going.append(each)
        newer += is_whole(each)
    return going[::-1]
