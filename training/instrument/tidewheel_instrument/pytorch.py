"""PyTorch: its loader, its optimizers, its saves and its exchanges between ranks."""

from __future__ import annotations

import functools
import os
import sys
import weakref
from _thread import get_ident
from collections.abc import Callable, Mapping
from time import monotonic
from types import FrameType
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils.data import BatchSampler, _utils, dataloader, default_collate

from .arithmetic import observe_step
from .call_sites import notes_construction
from .cells import DOING, DREW, EXCHANGE, RESTART, RESTARTS, SAVE, SINCE, STEPS, WAIT
from .draws import DrawWatch
from .jumps import has_read_checkpoint, install_jumps
from .meter import Meter, timed

_DEEPEST = 3
_RATE_SECONDS = 1.0
"""DDP measures about one iteration in this time. On a GPU that iteration waits for its events."""


def install(meter: Meter) -> None:
    _install_loader(meter)
    _install_workers(meter)
    install_jumps(meter)
    _install_steps(meter)
    # The agent knows by it that steps will be counted, before there is one.
    open(os.path.join(meter.folder, f"{os.getpid()}.counts"), "w").close()
    save = timed(meter, SAVE, torch.save)
    # Pickle finds the function by its own module.
    for module in (torch.serialization, torch):
        meter.replace(module, "save", save)
    if torch.distributed.is_available():
        _install_exchange(meter)


def _install_loader(meter: Meter) -> None:
    """The iterator's class, not the loader: a wrapper of the loader finds the type it expects."""
    base = dataloader._BaseDataLoaderIter
    original = base.__next__
    _install_worker_starts(meter)
    _install_new_loaders(meter)

    @functools.wraps(original)
    def get(self: Any) -> Any:
        # What meter.begin and meter.end do, in one function: each batch comes through here.
        is_counted = id(self) == meter.counted
        if not is_counted and get_ident() != meter.thread and not meter.begins_to_wait():
            return original(self)
        values = meter.values
        if values is None or values[DOING] != 0.0:
            return original(self)
        began = values[SINCE] = monotonic()
        values[DOING] = WAIT
        try:
            batch = original(self)
        finally:
            values[WAIT] += monotonic() - began
            values[DOING] = 0.0
        try:
            pending = meter.pending
            if is_counted and pending is not None and meter.full_batches:
                meter.full_batches -= 1
                meter.pending = pending + meter.batch_size
            else:
                _count_samples(meter, self, batch, is_new=not is_counted)
        except Exception as error:
            meter.remove("DataLoader", error)
        return batch

    meter.replace(base, "__next__", get)


def _install_new_loaders(meter: Meter) -> None:
    """After a fork, the meter has other call sites."""

    def made(loader: Any, frame: FrameType | None) -> None:
        meter.call_sites.made(loader, frame)

    loader = dataloader.DataLoader
    meter.replace(loader, "__init__", notes_construction(loader.__init__, made))
    base = dataloader._BaseDataLoaderIter
    original = base.__init__

    @functools.wraps(original)
    def init(self: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
        original(self, loader, *args, **kwargs)
        meter.forgets(id(self))
        meter.call_sites.iterates(loader, self)

    meter.replace(base, "__init__", init)


def _install_worker_starts(meter: Meter) -> None:
    workers = dataloader._MultiProcessingDataLoaderIter
    original = workers.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        values = meter.values
        is_training = get_ident() == meter.thread and values[DOING] == 0.0
        began = monotonic()
        if is_training:
            # The looks would take the start of a process for work in the script's loop.
            values[DOING] = RESTART
        try:
            original(self, *args, **kwargs)
        finally:
            if is_training:
                values[DOING] = 0.0
        meter.starting = (id(self), began)

    meter.replace(workers, "__init__", init)


def _count_restart(meter: Meter, iterator: Any) -> None:
    """At the first batch of an iterator whose workers have begun to start last."""
    started, began = meter.starting or (0, 0.0)
    if started != id(iterator):
        return
    meter.starting = None
    values = meter.values
    if values[STEPS] > 0.0:
        values[RESTART] += monotonic() - began
        values[RESTARTS] += 1.0


def _begin_source(meter: Meter, iterator: Any) -> None:
    _count_restart(meter, iterator)
    knows = bool(iterator._auto_collation)
    size = getattr(iterator._index_sampler, "batch_size", None) if knows else None
    line = meter.call_sites.trains_from(iterator)
    meter.takes_from(id(iterator), iterator._num_workers, size or 0, line, knows=knows)


def _count_samples(meter: Meter, iterator: Any, batch: Any, *, is_new: bool) -> None:
    if is_new:
        _begin_source(meter, iterator)
    before = meter.pending
    samples = None if before is None else _samples_of(batch)
    meter.pending = None if samples is None or before is None else before + samples
    if is_new and samples:
        meter.batch_size, meter.full_batches = samples, _full_after(iterator, samples)


def _full_after(iterator: Any, samples: int) -> int:
    """How many batches surely are as large as the first. Asking a tensor takes 3 us of a step."""
    sampler = iterator._index_sampler
    if type(sampler) is not BatchSampler or iterator._collate_fn is not default_collate:
        return 0
    indices: Any = sampler.sampler
    is_known = type(indices).__module__.startswith("torch.utils.data.")
    # That of an iterable dataset has no length.
    if not is_known or not hasattr(indices, "__len__") or samples != sampler.batch_size:
        return 0
    return len(indices) // samples - 1


def _samples_of(batch: Any) -> int | None:
    """The first dimension of the first tensor in a batch; None without one."""
    for _ in range(_DEEPEST):
        if isinstance(batch, torch.Tensor):
            return int(batch.shape[0]) if batch.ndim > 0 else None
        if isinstance(batch, Mapping):
            batch = next(iter(batch.values()), None)
        elif isinstance(batch, (list, tuple)) and batch:
            batch = batch[0]
    return None


def _install_workers(meter: Meter) -> None:
    worker = _utils.worker
    for fetcher in (_utils.fetch._MapDatasetFetcher, _utils.fetch._IterableDatasetFetcher):
        original: Callable[..., Any] = fetcher.fetch

        @functools.wraps(original)
        def fetch(self: Any, index: Any, _original: Callable[..., Any] = original) -> Any:
            if worker._worker_info is None:  # The training process loads by itself.
                return _original(self, index)
            began = meter.begin_fetch()
            watch = _watch_of(meter, self)
            load = _original if watch is None else watch.watched(_original)
            try:
                return load(self, index)
            finally:
                meter.end_fetch(began)
                if watch is not None and meter.values is not None and meter.values[DREW] <= 0.0:
                    meter.values[DREW] = 1.0 if watch.has_drawn else -1.0

        meter.replace(fetcher, "fetch", fetch)


def _watch_of(meter: Meter, fetcher: Any) -> DrawWatch | None:
    """Watch a worker's first batches, since a resumed script may skip others (jumps.py)."""
    if meter.watched_fetches == 0 or not has_read_checkpoint():
        return None
    meter.watched_fetches -= 1
    return DrawWatch((fetcher.dataset, fetcher.collate_fn))


def _install_steps(meter: Meter) -> None:
    is_compiling = torch.compiler.is_compiling
    stepped = meter.stepped

    def after_step(optimizer: torch.optim.Optimizer, _args: object, _kwargs: object) -> None:
        # Dynamo folds this, so a step that is compiled stays as it was.
        if is_compiling():
            return
        stepped(id(optimizer))

    meter.on_remove(register_optimizer_step_post_hook(after_step).remove)
    meter.observe_arithmetic = lambda: observe_step(meter)
    meter.count_threads = torch.get_num_threads


def _install_exchange(meter: Meter) -> None:
    """Waits for collective calls, and what DDP does beside them.

    Neither the calls themselves nor DDP's hooks are touched: torch.compile knows the former by
    identity, and a script may register the latter.
    """
    from torch.distributed import Work
    from torch.nn.parallel import DistributedDataParallel

    hidden = _HiddenExchange()
    original = DistributedDataParallel.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        hidden.add(self)
        meter.call_sites.note_first("exchange", sys._getframe(1))
        meter.exchange_of_step = hidden.seconds

    meter.replace(DistributedDataParallel, "__init__", init)
    sync = timed(meter, EXCHANGE, DistributedDataParallel._sync_buffers)
    meter.replace(DistributedDataParallel, "_sync_buffers", sync)
    meter.replace(Work, "wait", timed(meter, EXCHANGE, Work.wait))


class _HiddenExchange:
    """The part of DDP's gradient exchange that the backward pass does not hide.

    DDP measures some iterations itself, on GPUs by events on their streams
    (torch/csrc/distributed/c10d/logger.cpp). The exchange ends that much later than the computing.
    """

    def __init__(self) -> None:
        self._replicas: list[weakref.ref[Any]] = []
        self._rate = 0

    def add(self, replica: Any) -> None:
        self._replicas.append(weakref.ref(replica))

    def seconds(self, step_seconds: float) -> float:
        """Of the last iteration that DDP measured; 0.0 before the first."""
        replicas = [replica for each in self._replicas if (replica := each()) is not None]
        self._set_rate(replicas, step_seconds)
        return sum(_unhidden_seconds(replica) for replica in replicas)

    def _set_rate(self, replicas: list[Any], step_seconds: float) -> None:
        rate = max(1, round(_RATE_SECONDS / step_seconds)) if step_seconds > 0 else 0
        if rate and not 0.5 < self._rate / rate < 2:
            self._rate = rate
            for replica in replicas:
                replica.reducer._set_ddp_runtime_logging_sample_rate(rate)


def _unhidden_seconds(replica: Any) -> float:
    known = replica.logger._get_ddp_logging_data().ints_map
    exchange = known.get("backward_comm_time", 0)
    overlap = known.get("backward_compute_comm_overlap_time", 0)
    return float(max(0, exchange - overlap)) / 1e9
