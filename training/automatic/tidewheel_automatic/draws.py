"""Random numbers that loaders draw from generators of the script, too.

A replay loads nothing and draws nothing, while the script's own Python code draws for real. Where
the script draws after a loader, the journal holds the state of the generators in between.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch.utils import data

from .state import randomness
from .state.objects import Path, visit_one

if TYPE_CHECKING:
    from torch.utils.data import DataLoader

State = list[tuple[bytes, bytes]]
"""Of each generator: its key and the rest."""
_PLAIN_DATASETS = {data.TensorDataset, data.Subset, data.ConcatDataset, data.StackDataset}
_PLAIN_SAMPLERS = {
    data.SequentialSampler,
    data.RandomSampler,
    data.SubsetRandomSampler,
    data.WeightedRandomSampler,
}


class Work:
    """What a loader did in one call: what it gave, and how it left the generators."""

    def __init__(self, given: Any) -> None:
        self.given = given
        self.left: State | None = None
        """None where the script drew nothing before the loader's next call."""
        self.torch_before: State | None = None
        """PyTorch's generator before a call that drew from it and that a replay repeats."""

    def __deepcopy__(self, _memo: Any) -> Work:
        return self


class Draws:
    def __init__(self, may_read: Callable[[int], bool]) -> None:
        """`may_read`: counts bytes of the journal."""
        self._may_read = may_read
        self._own: list[Any] = []
        """The script's generator objects, in the order in which they were met."""
        self._last: tuple[Work, State] | None = None
        self._keys: dict[bytes, bytes] = {}
        """Those of the journal: a checkpoint has an object once, however often it is named."""

    def know(self, loader: DataLoader[Any]) -> None:
        """Generators that the loader's work may draw from."""
        known = {id(generator) for generator in self._own}
        for generator in _generators_of(loader):
            if id(generator) not in known:
                known.add(id(generator))
                self._own.append(generator)

    def before(self) -> State:
        """Before a loader's work: whether the script has drawn since the last one."""
        state = self._state()
        if self._last is not None and state[: len(self._last[1])] != self._last[1]:
            self.settle()
            self._last = None
        return state

    def settle(self) -> None:
        """The journal is saved: nothing tells whether the script will draw."""
        if self._last is not None:
            work, left = self._last
            if work.left is None:
                work.left = self.shared(left)

    def shared(self, state: State) -> State | None:
        """For the journal, which has each key once; None where it has no room."""
        size = sum(len(rest) + (0 if key in self._keys else len(key)) for key, rest in state)
        if not self._may_read(size):
            return None
        return [(self._keys.setdefault(key, key), rest) for key, rest in state]

    def after(self, before: State, work: Work) -> None:
        left = self._state()
        if left != before:
            self._last = work, left

    def again(self, work: Work) -> None:
        """In a replay: the script goes on to draw what it drew."""
        if work.left is None:
            return
        python, numpy, *own = [randomness.unpacked(key, rest) for key, rest in work.left]
        random.setstate(python)
        if numpy is not None and "numpy" in sys.modules:
            sys.modules["numpy"].random.set_state(numpy)
        for generator, state in zip(self._own, own, strict=False):
            randomness.set_generator_state(generator, state)

    def _state(self) -> State:
        numpy = sys.modules.get("numpy")
        states: list[Any] = [random.getstate(), None if numpy is None else numpy.random.get_state()]
        states += [randomness.generator_state(generator) for generator in self._own]
        return [randomness.packed(state) for state in states]


def _generators_of(loader: DataLoader[Any]) -> list[Any]:
    """Python's and NumPy's: those that it holds, and globals beside its classes."""
    found: list[Any] = []

    def note(_path: Path, value: Any, _owned: bool) -> Any:
        if _is_own_generator(value):
            found.append(value)
        return value

    visit_one(loader, note)
    for place in (loader.dataset, loader.sampler, loader.batch_sampler, loader.collate_fn):
        name = getattr(place, "__module__", None) or type(place).__module__
        module = sys.modules.get(name)
        found += filter(_is_own_generator, list(vars(module).values()) if module else [])
    return found


def _is_own_generator(value: object) -> bool:
    return randomness.is_generator(value) and not type(value).__module__.startswith("torch")


def may_draw(loader: DataLoader[Any]) -> bool:
    """Whether Python code of others works for it in this process."""
    sampler = loader.sampler
    while isinstance(sampler, data.BatchSampler):
        sampler = sampler.sampler
    batches = loader.batch_sampler
    is_plain = type(sampler) in _PLAIN_SAMPLERS and type(batches) in (data.BatchSampler, type(None))
    return not is_plain or (loader.num_workers == 0 and not _is_plain(loader))


def _is_plain(loader: DataLoader[Any]) -> bool:
    collate = getattr(loader.collate_fn, "__module__", "")
    return collate.startswith("torch.utils.data") and _holds_tensors(loader.dataset)


def _holds_tensors(dataset: Any) -> bool:
    kind = type(dataset)
    if kind not in _PLAIN_DATASETS:
        return False
    inner = [*getattr(dataset, "datasets", [])] if kind is not data.Subset else [dataset.dataset]
    return all(_holds_tensors(one) for one in inner)
