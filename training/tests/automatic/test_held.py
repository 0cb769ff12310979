"""Tensors that no variable leads to: only a loop holds them, or a `with`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from tidewheel_automatic.state.objects import Path, visit
from tidewheel_automatic.state.snapshot import capture, versions

Batches = Callable[[torch.Tensor], Iterable[Any]]


def replaced() -> set[Path]:
    """Puts ones in the place of every tensor of zeros, as a resume does; their paths."""
    found: set[Path] = set()

    def leaf(path: Path, value: object, _owned: bool) -> object:
        if isinstance(value, torch.Tensor) and value.shape == (2, 3) and not value.any():
            found.add(path)
            return torch.ones(2, 3)
        return value

    visit(leaf)
    return found


def parts(x: torch.Tensor, size: int = 2) -> tuple[torch.Tensor, ...]:
    made: tuple[torch.Tensor, ...] = torch.split(x, size)
    return made


def yielding(x: torch.Tensor) -> Iterator[torch.Tensor]:
    for rows in parts(x):
        print(rows.shape)
        yield rows


def delegating(x: torch.Tensor) -> Iterator[torch.Tensor]:
    yield from yielding(x)


KINDS: dict[str, Batches] = {
    "tuple": lambda x: parts(x),
    "list": lambda x: [*parts(x)],
    "zip": lambda x: zip(parts(x), parts(x), strict=True),
    "enumerate": lambda x: enumerate(parts(x)),
    "map": lambda x: map(torch.clone, parts(x)),
    "filter": lambda x: filter(lambda rows: rows.numel(), parts(x)),
    "reversed": lambda x: reversed([*parts(x)]),
    "dict": lambda x: dict(enumerate(parts(x))).items(),
    "pairs": lambda x: [*zip(parts(x), parts(x), strict=True)],
    "chain": lambda x: itertools.chain(parts(x), parts(x)),
    "generator": yielding,
    "delegating": delegating,
    "expression": lambda x: (rows for rows in parts(x)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_rest_of_a_loop_is_restored(kind: str) -> None:
    seen: list[Any] = []
    for batch in KINDS[kind](torch.zeros(6, 3)):
        batch = batch if isinstance(batch, tuple) else (batch,)
        seen.append([bool(part.any()) for part in batch if isinstance(part, torch.Tensor)])
        del batch
        if len(seen) == 1:
            assert replaced()
    assert not any(seen[0])
    assert all(all(parts) for parts in seen[1:])


def test_loops_within_one_another_have_paths_of_their_own() -> None:
    paths, seen = [], []
    for outer in parts(torch.zeros(8, 3), 4):
        for inner in parts(outer):
            with torch.no_grad():
                for again in parts(outer):
                    seen.append((bool(inner.any()), bool(again.any())))
                    del again
                    paths.append(replaced())
    # The outer tensor of another shape stays, so that each inner loop begins with zeros.
    assert len(paths[0]) == 4
    assert seen[:4] == [(False, False), (True, True), (True, False), (True, True)]
    assert paths[0] == paths[4]


def test_a_with_statement_is_reached_too() -> None:
    @contextmanager
    def weighted() -> Iterator[Callable[[], bool]]:
        weight = torch.zeros(2, 3)
        yield lambda: bool(weight.any())

    with weighted() as is_replaced:
        del is_replaced
        assert len(replaced()) == 1


def test_what_a_finished_loop_has_left_on_the_stack_is_not_read() -> None:
    for _ in parts(torch.zeros(4, 3)):
        pass
    for _ in KINDS["generator"](torch.zeros(4, 3)):
        break
    del _
    assert replaced() == set()


def test_a_large_tensor_is_saved_where_an_unchanged_one_lay() -> None:
    first = torch.zeros(600_000)
    unchanged = versions()
    assert all(path[-1] != "first" for path in capture(unchanged))
    later = torch.zeros(600_000)
    # As where Python puts it into the memory of the first one.
    unchanged[id(later)] = unchanged.pop(id(first))
    assert any(path[-1] == "later" for path in capture(unchanged))
