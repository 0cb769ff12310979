"""Batches that a resumed script skips, without loading them.

Once a script has read a checkpoint, and until its first step, each loader gives its first batch and
then placeholders: it draws the indices of a batch and loads nothing. At the first look at one, the
loader loads that batch, and goes on as if it had loaded each batch before.

That is the same where loading draws no random numbers, which only the person who wrote it knows: so
it is declared, by TIDEWHEEL_SKIP_UNREAD in the script's environment. A first batch that draws has
the loader load all. The batch that the script looks at is compared once more: what is found there
is an error of these hooks, for which the agent starts the script again without them. It does so on
one host alone, so no other gang skips.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from contextlib import ExitStack, suppress
from itertools import chain, count
from typing import Any

import torch
from torch.utils.data import _utils, dataloader

from .cells import DREW, read_cell
from .draws import DrawWatch
from .meter import Meter
from .placeholders import Placeholder, form_of, real, with_tensors

_JUMP = "_tidewheel_jump"
_MAP = dataloader._DatasetKind.Map
_LOADERS = (dataloader._SingleProcessDataLoaderIter, dataloader._MultiProcessingDataLoaderIter)


class NotTheSameError(BaseException):
    """A batch was skipped that had to be loaded. No script takes it for an error of its own."""


def has_read_checkpoint() -> bool:
    """Tell it by what agent/for_scripts/sitecustomize.py notes."""
    with suppress(OSError, KeyError):
        return os.path.getsize(os.path.join(os.environ["TIDEWHEEL_ENDED_DIR"], "reads")) > 0
    return False


def install_jumps(meter: Meter) -> None:
    """Install them after the hooks that count. A replay of automatic checkpoints loads nothing."""
    if os.environ.get("TIDEWHEEL_SKIP_UNREAD") != "1" or "TIDEWHEEL_AUTOMATIC_DIR" in os.environ:
        return
    if "TIDEWHEEL_ENDED_DIR" not in os.environ or _is_on_several_hosts():
        return
    if not hasattr(torch.utils, "swap_tensors"):  # Before PyTorch 2.3.
        return
    jumps = _Jumps(meter)
    base, workers = dataloader._BaseDataLoaderIter, dataloader._MultiProcessingDataLoaderIter
    replaced = (
        (base, "__next__", base.__next__, lambda iterator: jumps.next(iterator)),
        (workers, "_try_put_index", workers._try_put_index, lambda iterator: jumps.put(iterator)),
    )

    def end() -> None:
        jumps.settle()
        for owner, name, before, ours in replaced:
            if getattr(owner, name) is ours:
                setattr(owner, name, before)
        meter.real_arguments = meter.compiles = None

    for owner, name, _, ours in replaced:
        meter.replace(owner, name, ours)
    # Dynamo cannot trace what a placeholder does.
    meter.real_arguments, meter.compiles = real, end
    meter.at_first_step.append(end)
    # First of all: workers of a loader that only begins wait for it.
    meter.on_remove(jumps.settle)


def _is_on_several_hosts() -> bool:
    ranks = os.environ.get("WORLD_SIZE", "1"), os.environ.get("LOCAL_WORLD_SIZE", "1")
    return ranks[0] != ranks[1] and ranks[0] != "1"


class _Jumps:
    """Keep the jumps of a process with the iterators of its loaders."""

    def __init__(self, meter: Meter) -> None:
        self._folder = meter.folder
        self._take: Callable[[Any], Any] = dataloader._BaseDataLoaderIter.__next__
        self._put = dataloader._MultiProcessingDataLoaderIter._try_put_index
        self._all: weakref.WeakValueDictionary[int, Jump] = weakref.WeakValueDictionary()

    def next(self, iterator: Any) -> Any:
        jump = vars(iterator).get(_JUMP)
        if jump is None and iterator._num_yielded == 0 and iterator._num_workers == 0:
            jump = self._begin(iterator)
        if jump is not None:
            with jump.lock:
                if jump.is_on:
                    return jump.next()
        return self._take(iterator)

    def put(self, iterator: Any) -> None:
        """Give the workers a batch to load, unless it may be skipped."""
        is_first = iterator._send_idx == 0
        jump = self._begin(iterator) if is_first else vars(iterator).get(_JUMP)
        if is_first or jump is None or not jump.is_on:
            self._put(iterator)

    def settle(self) -> None:
        for jump in [*self._all.values()]:
            jump.load()

    def _begin(self, iterator: Any) -> Jump | None:
        vars(iterator).pop(_JUMP, None)
        is_known = type(iterator) in _LOADERS and iterator._dataset_kind == _MAP
        if not is_known or _utils.worker._worker_info is not None or not has_read_checkpoint():
            return None
        jump = vars(iterator)[_JUMP] = Jump(iterator, self._folder, self._take)
        self._all[id(iterator)] = jump
        return jump


class Jump:
    """Skip batches of one epoch. `take`: gives the loader's next batch."""

    def __init__(self, iterator: Any, folder: str, take: Callable[[Any], Any]) -> None:
        self.is_on = True
        self.lock = threading.RLock()
        """A script may read its loader in a thread."""
        # Without a circle: an iterator that is dropped ends its workers at once.
        self._weak, self._folder, self._take = weakref.ref(iterator), folder, take
        self._first: Any = None
        """The epoch's first batch, in placeholders."""
        self._given = 0
        self._oldest = 1
        self._indices: dict[int, Any] = {}
        self._skipped: weakref.WeakValueDictionary[int, _Skipped] = weakref.WeakValueDictionary()
        """What the script still holds."""

    @property
    def _iterator(self) -> Any:
        return self._weak()

    def next(self) -> Any:
        if self._given == 0:
            return self._take_first()
        try:
            index = self._iterator._next_index()
        except StopIteration:
            self.load()
            return self._take(self._iterator)
        number, self._given = self._given, self._given + 1
        self._indices[number] = index
        skipped = self._skipped[number] = _Skipped(self, self._iterator)
        self._forget()
        places = count()
        return with_tensors(self._first, lambda like: skipped.placeholder(like, next(places)))

    def _take_first(self) -> Any:
        batch, has_drawn = self._load_next()
        self._given = 1
        try:
            self._first = with_tensors(batch, Placeholder.of)
        except TypeError:
            has_drawn = True
        if has_drawn or _has_length(batch, getattr(self._iterator._index_sampler, "batch_size", 0)):
            self._go_on_from(1, [])
        return batch

    def load(self) -> None:
        """Load what the script still holds; from then on the loader loads all."""
        with self.lock:
            self._load()

    def _load(self) -> None:
        if not self.is_on or self._iterator is None:
            return
        if vars(self._iterator).get(_JUMP) is not self:
            raise NotTheSameError("the epoch of a skipped batch is over")
        self._forget()
        live, first = dict(self._skipped), min(self._oldest, self._given)
        self._go_on_from(first, [self._indices[each] for each in range(first, self._given)])
        for number in range(first, self._given):
            batch, has_drawn = self._load_next()
            if (has_drawn and first > 1) or form_of(batch) != form_of(self._first):
                raise NotTheSameError("the batches of this loader cannot be skipped")
            if number in live:
                live[number].take(batch)

    def _forget(self) -> None:
        """Forget what the script holds no longer, up to the first that it holds."""
        while self._oldest < self._given and self._oldest not in self._skipped:
            del self._indices[self._oldest]
            self._oldest += 1

    def _go_on_from(self, number: int, indices: list[Any]) -> None:
        self.is_on = False
        iterator, workers = self._iterator, self._iterator._num_workers
        iterator._sampler_iter = chain(indices, iterator._sampler_iter)
        iterator._num_yielded = number
        if workers == 0:
            return
        if number > 0:
            vars(iterator).update(_send_idx=number, _rcvd_idx=number)
            for _ in range((number - 1) % workers):
                next(iterator._worker_queue_idx_cycle)
        for _ in range(iterator._prefetch_factor * workers - iterator._tasks_outstanding):
            iterator._try_put_index()

    def _load_next(self) -> tuple[Any, bool]:
        """Load a batch. Whether that drew random numbers comes with it."""
        iterator = self._iterator
        if iterator._num_workers > 0:
            batch = self._take(iterator)
            found = [read_cell(self._folder, each.pid, DREW) for each in iterator._workers]
            # Below 0 says that loading drew nothing, and 0 that nothing was noted.
            return batch, max(found) > 0 or min(found) >= 0
        fetcher = iterator._dataset_fetcher
        watch = DrawWatch((fetcher.dataset, fetcher.collate_fn))
        fetcher.fetch = watch.watched(fetcher.fetch)
        try:
            return self._take(iterator), watch.has_drawn
        finally:
            del fetcher.fetch


def _has_length(batch: Any, length: int | None) -> bool:
    """Tell a list with an element for each sample, whose length differs from batch to batch."""
    if isinstance(batch, dict):
        return any(_has_length(each, length) for each in batch.values())
    if type(batch) not in (list, tuple):
        return False
    return len(batch) == length or any(_has_length(each, length) for each in batch)


class _Skipped:
    """Stand for a batch until the script looks at it."""

    def __init__(self, jump: Jump, iterator: object) -> None:
        self._jump = jump
        self._iterator: object | None = iterator
        """Until it has loaded the batch. Its workers end with it."""
        self._tensors: list[torch.Tensor] = []
        self._grad = torch.is_grad_enabled()

    def take(self, batch: Any) -> None:
        with_tensors(batch, self._tensors.append)
        self._iterator = None

    def placeholder(self, like: Any, place: int) -> torch.Tensor:
        return Placeholder(like.form, lambda: self._tensor(place))

    def _tensor(self, place: int) -> torch.Tensor:
        if not self._tensors:
            # As if it were in the head of the loop.
            with ExitStack() as stack:
                stack.enter_context(torch.inference_mode(False))
                stack.enter_context(torch.set_grad_enabled(self._grad))
                for device in ("cpu", "cuda"):
                    stack.enter_context(torch.autocast(device, enabled=False))
                self._jump.load()
        tensor = self._tensors[place]
        is_elsewhere = sum(each is tensor for each in self._tensors) > 1
        return tensor.detach() if is_elsewhere else tensor
