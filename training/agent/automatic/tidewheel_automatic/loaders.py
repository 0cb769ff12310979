"""Iterators of a DataLoader that can go on in the middle of an epoch."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torch.utils.data import DataLoader, IterableDataset

from . import randomness
from .phantoms import build, describe, without_modes

if TYPE_CHECKING:
    from .session import Session

_END = "end of the epoch"
_numbers = itertools.count()
_live: weakref.WeakValueDictionary[int, LoaderIterator] = weakref.WeakValueDictionary()


class LoaderIterator(Iterator[Any]):
    """Stands in front of PyTorch's iterator; during a replay it yields phantoms without loading."""

    def __init__(
        self,
        loader: DataLoader[Any],
        make: Callable[[DataLoader[Any]], Iterator[Any]],
        session: Session,
    ) -> None:
        self._loader, self._make, self._session = loader, make, session
        self._number = next(_numbers)
        self._position = 0
        self._is_done = False
        self._random: dict[str, Any] = {}
        self._real: Any = None
        _live[self._number] = self
        if not session.is_phantom:
            self._random = _random_state(loader)
            self._real = make(loader)

    def __iter__(self) -> LoaderIterator:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        self._session.before_batch()
        if self._session.is_phantom:
            description = self._session.journal.replay("batch")
            if isinstance(description, str) and description == _END:
                self._is_done = True
                raise StopIteration
            return build(description)
        try:
            with self._session.inside():
                batch = next(self._real)
        except StopIteration:
            self._is_done = True
            self._record(_END)
            raise
        self._position += 1
        self._record(batch)
        return batch

    def _record(self, batch: Any) -> None:
        if self._session.is_recording:
            self._session.journal.record("batch", batch if batch is _END else describe(batch))

    def state(self) -> dict[str, Any]:
        return {"position": self._position, "random": self._random}

    def restore(self, state: dict[str, Any]) -> None:
        """Makes PyTorch's iterator again and brings it to the position, drawing what it drew."""
        self._random, self._position = state["random"], state["position"]
        _set_random_state(self._loader, self._random)
        self._real = self._make(self._loader)
        loads_here = self._loader.num_workers == 0
        if loads_here and not isinstance(self._loader.dataset, IterableDataset):
            # The order of the samples is all that the iterator holds.
            for _ in range(self._position):
                next(self._real._sampler_iter)
            self._real._num_yielded = self._position
            return
        # A worker holds generators of its own, which only loading again brings forward.
        for _ in range(self._position):
            next(self._real)


def live_states() -> dict[int, dict[str, Any]]:
    return {n: it.state() for n, it in sorted(_live.items()) if not it._is_done}


def restore_live(states: dict[int, dict[str, Any]]) -> None:
    with without_modes():
        for number, iterator in sorted(_live.items()):
            if number in states:
                iterator.restore(states[number])


def _generators(loader: DataLoader[Any]) -> list[Any]:
    places = (loader, loader.sampler, loader.batch_sampler)
    found = [getattr(place, "generator", None) for place in places if place is not None]
    return [generator for generator in found if generator is not None]


def _random_state(loader: DataLoader[Any]) -> dict[str, Any]:
    own = [randomness.generator_state(generator) for generator in _generators(loader)]
    return {"all": randomness.capture(), "own": own}


def _set_random_state(loader: DataLoader[Any], state: dict[str, Any]) -> None:
    randomness.restore(state["all"])
    for generator, own in zip(_generators(loader), state["own"], strict=True):
        randomness.set_generator_state(generator, own)
