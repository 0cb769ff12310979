"""Attributes the seconds of the training thread, and counts its steps.

Nothing here raises: the first failure removes all hooks, and the script goes on without them.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from _thread import get_ident
from collections.abc import Callable
from time import monotonic, process_time, thread_time
from typing import Any

from .call_sites import CallSites
from .cells import (
    ASKED_FIRST_BATCH,
    BATCH_SIZE,
    CPU,
    DECODE_CPU,
    DOING,
    EXCHANGE,
    FETCH,
    FIRST_STEP,
    GOT_FIRST_BATCH,
    KNOWS_SAMPLES,
    RANK,
    RING,
    RING_LENGTH,
    SAMPLES,
    SAVE,
    SINCE,
    STEPS,
    THREADS,
    TRAINER,
    WAIT,
    WAIT_BEFORE_STEP,
    WORKER,
    WORKERS,
    Cells,
)
from .tensorflow_input import TensorFlowInput

_EXCHANGE_SECONDS = 1.0
"""Between two looks at the exchange that DDP hides."""
_SCRIPT = -1
"""A source of batches, and a marker, that no loader and no optimizer has."""
_GONE = -2
_RANKS = ("RANK", "TIDEWHEEL_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")


class Meter:
    """One a process. `thread`: the one that trains; only its time counts."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._removers: list[Callable[[], object]] = []
        self.is_on = True
        self.exchange_of_step: Callable[[float], float] | None = None
        """From the seconds of a step: those that its exchange took beside the rest."""
        self.observe_arithmetic: Callable[[], object] | None = None
        """Begins to watch one step; called once a minute, beside the training thread."""
        self.compiled_call: Callable[[Any, tuple[Any, ...]], None] | None = None
        """Before a call of a module of torch.compile with arguments, while a step is watched."""
        self.real_arguments: Callable[[Any], Any] | None = None
        """For a call of a module of torch.compile, in place of its arguments."""
        self.compiles: Callable[[], object] | None = None
        """Called when the script compiles a function, whose calls are not seen."""
        self.tensorflow_input: TensorFlowInput | None = None
        self.keras_input: object = None
        """Keras' adapter of an epoch that begins, until its first step."""
        self.at_first_step: list[Callable[[], object]] = []
        self.count_threads: Callable[[], int] | None = None
        """Those that compute for the thread that asks."""
        self._reset()
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        """A forked process has not counted anything."""
        self.values: Any = None
        self.thread = 0
        self._is_decoding = False
        self.watched_fetches = 2
        """Loads at the start of this process that are compared."""
        self.source = 0
        self.counted = 0
        """The source, while only the training thread can take from it."""
        self._stepped_source = 0
        self.starting: tuple[int, float] | None = None
        """A loader's iterator whose workers start, and since when; until its first batch."""
        self._loader = (0, 0)
        self._loader_line: str | None = None
        self.call_sites = CallSites(self.folder)
        self.pending: int | None = None
        self.batch_size, self.full_batches = 0, 0
        """Samples of a batch of the source, and how many batches surely have as many."""
        self._marker: object = None
        self._other: object = None
        self._steady: object = None
        """The marker, while nothing has changed but the counts of steps and samples."""
        self._steps = 0
        self._look_at_exchange = 0.0
        self._hidden_exchange = 0.0

    def on_remove(self, remover: Callable[[], object]) -> None:
        self._removers.append(remover)

    def replace(self, owner: Any, name: str, new: Any) -> None:
        """Puts `new` in the place of an attribute of a class or module; a removal puts it back.

        What others have put in its place meanwhile stays.
        """
        had = vars(owner).get(name)
        setattr(owner, name, new)

        def put_back() -> None:
            if vars(owner).get(name) is new:
                if had is None:
                    delattr(owner, name)
                else:
                    setattr(owner, name, had)

        self.on_remove(put_back)

    def remove(self, hook: str, error: BaseException) -> None:
        """Uninstalls all hooks and leaves a note for the agent."""
        if not self.is_on:
            return
        self.is_on = False
        self.uninstall()
        # A wrapper that another one has wrapped stays, and finds no thread that counts.
        self.values, self.thread, self.counted, self._steady = None, -1, 0, None
        reason = f"{type(error).__name__}: {error}"[:300]
        print(f"tidewheel: {hook} is no longer measured: {reason}", file=sys.stderr, flush=True)
        try:
            path = os.path.join(self.folder, f"{os.getpid()}.removed")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"hook": hook, "reason": reason}, file)
        except OSError:
            return

    def uninstall(self) -> None:
        for remover in reversed(self._removers):
            try:
                remover()
            except Exception:  # The wrapper stays, and only calls the original.
                continue
        self._removers.clear()

    def begins_to_wait(self) -> bool:
        """On a thread that is not known to train: whether it is, since it waits for a batch."""
        try:
            if not self.is_on or not self._takes_thread():
                return False
            self.values[ASKED_FIRST_BATCH] = monotonic()
        except Exception as error:
            self.remove("the loop", error)
            return False
        return True

    def begin(self, kind: int) -> float:
        """0.0 where the time that follows does not count: inside of other such time, or beside the
        training thread."""
        try:
            if get_ident() != self.thread and (kind != WAIT or not self.begins_to_wait()):
                return 0.0
            values = self.values
            if values[DOING] != 0.0:
                return 0.0
            began = monotonic()
            values[SINCE] = began
            values[DOING] = kind
        except Exception as error:
            self.remove("the loop", error)
            return 0.0
        return began

    def end(self, kind: int, began: float) -> None:
        if began == 0.0:
            return
        try:
            values = self.values
            if values is not None:
                ended = monotonic()
                values[kind] += ended - began
                values[DOING] = 0.0
                if kind == WAIT and values[GOT_FIRST_BATCH] == 0.0:
                    values[GOT_FIRST_BATCH] = ended
        except Exception as error:
            self.remove("the loop", error)

    def takes_from(
        self, source: int, workers: int, batch_size: int, line: str | None, *, knows: bool
    ) -> None:
        """Another iterator than before gives a batch. `line`: where the script makes its loader;
        `knows`: how many samples the batch holds."""
        values = self.values
        if values[GOT_FIRST_BATCH] == 0.0:
            values[GOT_FIRST_BATCH] = monotonic()
        # The batches of another loop, such as a validation, are no part of the next step.
        self.source, self.pending = source, 0 if knows else None
        self.counted, self.full_batches = source, 0
        self._loader, self._loader_line = (workers, batch_size), line
        self._steady = None

    def forgets(self, source: int) -> None:
        """A new iterator has the number of an old one, which is gone."""
        if source == self.source:
            self.source = self.counted = 0
        if source == self._stepped_source:
            self._stepped_source = _GONE
        self._steady = None

    def stepped_by_script(self, samples: float, count: int) -> None:
        """Where a loader is known, that one tells the samples."""
        try:
            if self.source in (0, _SCRIPT):
                self.source, self.pending = _SCRIPT, (self.pending or 0) + round(samples)
                self._loader = (0, round(samples / max(1, count)))
                self._steady = None
        except Exception as error:
            self.remove("tidewheel.stepped", error)
        self.stepped(_SCRIPT, count)

    def stepped(self, marker: object, count: int = 1) -> None:
        """`marker`: the optimizer. Of several that step in turn, one tells the steps."""
        try:
            if marker != self._steady and (count := self._changes(marker, count)) == 0:
                return
            values, number = self.values, self._steps
            now = monotonic()
            if count == 1:
                values[RING + number % RING_LENGTH] = now
            else:
                self._spread(number, count, now)
            if self.pending:
                values[SAMPLES] += self.pending
                self.pending = 0
            if self.exchange_of_step is not None:
                self._count_exchange(count, now)
            self._steps = number + count
            # Last: a reader that sees the step sees all that belongs to it.
            values[STEPS] = self._steps
        except Exception as error:
            self.remove("the optimizer's step", error)

    def _changes(self, marker: object, count: int) -> int:
        """At a step that may not be like the one before. How many steps count; 0: none."""
        self._steady = None
        if marker != self._marker:
            count = self._begin_steps(marker, count)
        else:
            self._other = None
        if count == 0:
            return 0
        if self.source != self._stepped_source:
            self._stepped_source = self.source
            self.values[WORKERS], self.values[BATCH_SIZE] = self._loader
            self.call_sites.note("loader", self._loader_line)
            self.values[KNOWS_SAMPLES] = 0.0 if self.pending is None else 1.0
        self._steady = marker
        return count

    def _begin_steps(self, marker: object, count: int) -> int:
        """How many steps count, now that `marker` has stepped and another one before; 0: none."""
        if not self.is_on:
            return 0
        if self._marker is not None:
            if marker != self._other:
                self._other = marker
                return 0
            # It stepped twice, and the other one not once: a new training has begun.
            count += 1
        self._marker, self._other = marker, None
        if get_ident() != self.thread:
            self._takes_thread(steps=True)
        if self.values[STEPS] == 0.0:
            self.values[WAIT_BEFORE_STEP] = self.values[WAIT]
            self.values[FIRST_STEP] = monotonic()
            self.values[RANK] = float(_own_rank())
            if self.count_threads is not None:
                self.values[THREADS] = float(self.count_threads())
            for each in self.at_first_step:
                each()
        return count

    def _spread(self, number: int, count: int, now: float) -> None:
        """Several steps that end in one call took equally long, as far as anyone can know."""
        began = self._last_end(number) or now
        for each in range(1, count + 1):
            end = now if each == count else began + (now - began) * each / count
            self.values[RING + (number + each - 1) % RING_LENGTH] = end

    def _last_end(self, number: int) -> float:
        return float(self.values[RING + (number - 1) % RING_LENGTH]) if number else 0.0

    def _count_exchange(self, count: int, now: float) -> None:
        assert self.exchange_of_step is not None
        if now >= self._look_at_exchange:
            self._look_at_exchange = now + _EXCHANGE_SECONDS
            ended = self._last_end(self._steps)
            self._hidden_exchange = self.exchange_of_step(now - ended if ended else 0.0)
        self.values[EXCHANGE] += count * self._hidden_exchange

    def _takes_thread(self, *, steps: bool = False) -> bool:
        """The thread that steps trains; before the first step, the one that waits for a batch."""
        if self.thread and not steps:
            return False
        if self.values is None:
            self.values = Cells(self.folder, TRAINER).values
            self.values[RANK] = -1.0
        self.thread, self.counted = get_ident(), 0
        return True

    def begin_fetch(self) -> float:
        """In a loader worker, at the start of a batch."""
        if not self.is_on:
            return 0.0
        try:
            if self.values is None:
                self.values = Cells(self.folder, WORKER).values
            began = monotonic()
            self.values[SINCE] = began
            self.values[DOING] = FETCH
        except Exception as error:
            self.remove("the loader's worker", error)
            return 0.0
        return began

    def end_fetch(self, began: float) -> None:
        if began == 0.0 or self.values is None:
            return
        self.values[FETCH] += monotonic() - began
        self.values[DOING] = 0.0
        self.values[CPU] = process_time()

    def begin_decode(self) -> float:
        """In a loader worker, at the start of an image; -1.0 elsewhere: nothing counts there."""
        values = self.values
        if values is None or values[DOING] != FETCH or self._is_decoding:
            return -1.0
        self._is_decoding = True
        return thread_time()

    def end_decode(self, began: float) -> None:
        if began < 0:
            return
        self._is_decoding = False
        if self.values is not None:
            self.values[DECODE_CPU] += thread_time() - began


def timed(meter: Meter, kind: int, original: Callable[..., Any]) -> Callable[..., Any]:
    """A function that counts its time as `kind`."""
    begin, end = meter.begin, meter.end
    saves = kind == SAVE

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        began = begin(kind)
        try:
            return original(*args, **kwargs)
        finally:
            end(kind, began)
            if saves and began:
                meter.call_sites.saved(began, sys._getframe(1))

    return call


def _own_rank() -> int:
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    texts = [os.environ.get(name, "") for name in _RANKS]
    return next((int(text) for text in texts if text.isdigit()), 0)
