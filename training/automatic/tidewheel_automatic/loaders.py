"""Iterators of a DataLoader that can go on in the middle of an epoch."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_leaves
from torch.utils.data import DataLoader, IterableDataset

from .draws import State, Work, may_draw
from .fake_tensors import build, describe, without_modes
from .recording import Recording
from .state import randomness

_END = "end of the epoch"
_numbers = itertools.count()
_live: weakref.WeakValueDictionary[int, LoaderIterator] = weakref.WeakValueDictionary()


class LoaderIterator(Iterator[Any]):
    """Stands in front of PyTorch's iterator; a replay yields fake tensors without loading.

    A dataset that keeps a state from one epoch to the next is loaded again in a replay.
    """

    def __init__(
        self,
        loader: DataLoader[Any],
        make: Callable[[DataLoader[Any]], Iterator[Any]],
        session: Recording,
    ) -> None:
        self.loader = loader
        self._make, self._session = make, session
        self._number = next(_numbers)
        self._position = 0
        self._is_done = False
        self._random: dict[str, Any] = {}
        self.pytorch_iterator: Any = None
        self._may_draw = may_draw(loader)
        self._loads_again = _keeps_state(loader)
        _live[self._number] = self
        if self._may_draw:
            session.draws.know(loader)
        self._begin()

    def __iter__(self) -> LoaderIterator:
        return self

    def __len__(self) -> int:
        return len(self.loader)

    def __next__(self) -> Any:
        self._session.before_batch()
        if self._session.is_replaying:
            return self._again()
        before = self._before()
        try:
            with self._session.nesting.inside():
                batch = next(self.pytorch_iterator)
        except StopIteration:
            self._is_done = True
            self._record("batch", _END, before)
            raise
        self._position += 1
        self._record("batch", batch, before)
        return batch

    def _begin(self) -> None:
        session = self._session
        if session.is_replaying:
            work = session.journal.replay("epoch")
            if self._loads_again:
                with without_modes():
                    _set_random_state(self.loader, work.given)
                    self.pytorch_iterator = self._make(self.loader)
            session.draws.again(work)
            return
        before = self._before()
        self._random = _random_state(self.loader)
        self.pytorch_iterator = self._make(self.loader)
        self._record("epoch", self._random if self._loads_again else None, before)

    def _again(self) -> Any:
        """A batch of the replay."""
        work = self._session.journal.replay("batch")
        is_end = isinstance(work.given, str) and work.given == _END
        if self._loads_again:
            with self._session.nesting.inside(), without_modes():
                for key, rest in work.torch_before or []:
                    torch.set_rng_state(randomness.unpacked(key, rest))
                next(self.pytorch_iterator, None)
        self._session.draws.again(work)
        self._position += not is_end
        if is_end:
            self._is_done = True
            raise StopIteration
        with self._session.nesting.inside():
            return build(work.given)

    def _before(self) -> tuple[State, Any] | None:
        if not self._may_draw or not self._session.is_recording:
            return None
        return self._session.draws.before(), torch.get_rng_state() if self._loads_again else None

    def _record(self, kind: str, given: Any, before: tuple[State, Any] | None) -> None:
        session = self._session
        if not session.is_recording:
            return
        work = Work(given if kind == "epoch" or given is _END else _described(given, session))
        session.journal.record(kind, work)
        if before is None:
            return
        state, numbers = before
        with session.nesting.inside():
            has_drawn = numbers is not None and not numbers.equal(torch.get_rng_state())
            if kind == "batch" and has_drawn:
                work.torch_before = session.draws.shared([randomness.packed(numbers)])
        session.draws.after(state, work)

    def state(self) -> dict[str, Any]:
        return {"position": self._position, "random": self._random}

    def restore(self, state: dict[str, Any]) -> None:
        """Makes PyTorch's iterator again and brings it to the position, drawing what it drew."""
        if self._loads_again and self.pytorch_iterator is not None:
            return  # It is there: the replay has loaded what came before.
        self._random, self._position = state["random"], state["position"]
        _set_random_state(self.loader, self._random)
        self.pytorch_iterator = self._make(self.loader)
        loads_here = self.loader.num_workers == 0
        if loads_here and not isinstance(self.loader.dataset, IterableDataset):
            # The order of the samples is all that the iterator holds.
            for _ in range(self._position):
                next(self.pytorch_iterator._sampler_iter)
            self.pytorch_iterator._num_yielded = self._position
            return
        # A worker holds generators of its own, which only loading again brings forward.
        for _ in range(self._position):
            next(self.pytorch_iterator)


def live_states() -> dict[int, dict[str, Any]]:
    return {n: it.state() for n, it in sorted(_live.items()) if not it._is_done}


def live_loaders() -> list[tuple[int, DataLoader[Any], Any]]:
    """Each with its number and PyTorch's iterator, which a replay does not have yet."""
    return [(number, it.loader, it.pytorch_iterator) for number, it in sorted(_live.items())]


def restore_live(states: dict[int, dict[str, Any]]) -> None:
    with without_modes():
        for number, iterator in sorted(_live.items()):
            if number in states:
                iterator.restore(states[number])


def _keeps_state(loader: DataLoader[Any]) -> bool:
    """What an epoch leaves behind may change the next one: in a stream, or in workers that stay."""
    if loader.num_workers == 0:
        return isinstance(loader.dataset, IterableDataset)
    return bool(loader.persistent_workers)


def _described(batch: Any, session: Recording) -> Any:
    with session.nesting.inside():  # A class may read its tensors while it is described.
        description = describe(batch)
    session.may_read(sum(int(getattr(leaf, "nbytes", 0)) for leaf in tree_leaves(description)))
    return description


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
