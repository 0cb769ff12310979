"""Streams that are shuffled and read ahead."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipe_modules import load_modules

(pipe,) = load_modules("deepfm", "pipe")


@given(st.integers(0, 60), st.integers(0, 80), st.integers(0, 5))
def test_shuffling_keeps_every_item_and_its_window(length: int, size: int, seed: int) -> None:
    order = list(pipe.shuffled(iter(range(length)), size, seed))
    assert sorted(order) == list(range(length))
    assert order == list(pipe.shuffled(iter(range(length)), size, seed))
    # The item at a place was read by then: it waited at most in the buffer.
    assert all(item <= place + size for place, item in enumerate(order))


def test_an_error_comes_after_what_was_read() -> None:
    def damaged() -> Iterator[int]:
        yield from range(3)
        raise ValueError("damaged at byte 48")

    seen: list[int] = []
    with pytest.raises(ValueError, match="damaged at byte 48"):
        seen.extend(iter(pipe.Ahead(damaged(), 10)))
    assert seen == [0, 1, 2]


def test_a_closed_reader_leaves_the_rest_unread() -> None:
    source = iter(range(1_000_000))
    ahead = pipe.Ahead(source, 5)
    assert next(iter(ahead)) == 0
    ahead.close()
    # What the queue holds, and one item that found no room.
    assert next(source) <= 7
