"""Keras: its steps and batches, and where the script prepares what it trains from.

That is its `PyDataset`, or the `map` of tf.data.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from functools import partial, wraps
from types import FrameType, ModuleType
from typing import Any

from .call_sites import notes_construction
from .cells import WAIT
from .keras_arithmetic import KerasArithmetic
from .meter import Meter
from .tensorflow_input import TensorFlowInput

_DEEPEST = 100
"""Transformations of a dataset."""


def install_steps(module: ModuleType, meter: Meter) -> None:
    """`fit` of every backend calls this after each batch, or after each `steps_per_execution`."""
    original = module.CallbackList.on_train_batch_end
    last = -1
    arithmetic: KerasArithmetic | None = KerasArithmetic()

    def on_train_batch_end(self: Any, batch: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal last, arithmetic
        count = batch - last if isinstance(batch, int) and batch > last else 1
        last = batch if isinstance(batch, int) else -1
        meter.stepped("keras", count)
        meter.call_sites.note_first("fit", sys._getframe(1))
        _note_input(meter)
        _ask_input(meter, lambda known: known.stepped(meter.values))
        if arithmetic is not None:
            try:
                arithmetic.stepped(self, meter.values)
            except Exception:  # What cannot be counted stays unknown.
                arithmetic = None
        return original(self, batch, *args, **kwargs)

    meter.replace(module.CallbackList, "on_train_batch_end", on_train_batch_end)


def _ask_input(meter: Meter, ask: Callable[[TensorFlowInput], None]) -> None:
    """What tf.data does not tell stays unknown."""
    if meter.tensorflow_input is None:
        return
    try:
        ask(meter.tensorflow_input)
    except Exception:
        meter.tensorflow_input = None


def _note_iterator(known: TensorFlowInput, batch: Any) -> None:
    """`batch`: of a compiled step, numbers of steps and the iterator."""
    if type(batch[-1]).__name__ == "OwnedIterator":
        known.took(batch[-1])


def install_batches(module: ModuleType, meter: Meter) -> None:
    """Backends whose training step gets its batch from Python; that of PyTorch has a loader."""
    from keras.src import backend

    if backend.backend() == "torch":
        return
    if backend.backend() == "tensorflow":
        meter.tensorflow_input = TensorFlowInput()
    original = module.EpochIterator.__iter__

    def batches(self: Any) -> Any:
        iterator = original(self)
        meter.keras_input = getattr(self, "data_adapter", None)
        while True:
            began = meter.begin(WAIT)
            try:
                batch = next(iterator)
            except StopIteration:
                return
            finally:
                meter.end(WAIT, began)
            _ask_input(meter, partial(_note_iterator, batch=batch))
            yield batch

    meter.replace(module.EpochIterator, "__iter__", batches)


def install_py_dataset(module: ModuleType, meter: Meter) -> None:
    def made(data: Any, frame: FrameType | None) -> None:
        while frame is not None and frame.f_code.co_name == "__init__":
            frame = frame.f_back  # The script's own class.
        meter.call_sites.made(data, frame)

    kind = module.PyDataset
    meter.replace(kind, "__init__", notes_construction(kind.__init__, made))


def install_map(module: ModuleType, meter: Meter) -> None:
    """Every dataset has the `map` of this class."""
    kind = module.DatasetV2
    original = kind.map

    @wraps(original)
    def mapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = original(self, *args, **kwargs)
        meter.call_sites.made(made, sys._getframe(1))
        return made

    meter.replace(kind, "map", mapped)


def _note_input(meter: Meter) -> None:
    """A validation may give batches meanwhile, but ends with none of these calls."""
    adapter, meter.keras_input = meter.keras_input, None
    if adapter is None:
        return
    with contextlib.suppress(Exception):
        data = getattr(adapter, "py_dataset", None)
        if data is not None:
            meter.call_sites.note("pyDataset", meter.call_sites.trains_from(data))
            return
        meter.call_sites.note("map", _map_line(meter, getattr(adapter, "_dataset", None)))


def _map_line(meter: Meter, dataset: Any) -> str | None:
    """Of the last `map` that calls one at a time; else of the last `map`."""
    fallback: str | None = None
    for _ in range(_DEEPEST):
        if dataset is None:
            break
        line = meter.call_sites.trains_from(dataset)
        if line is not None:
            if not type(dataset).__name__.startswith("_Parallel"):
                return line
            fallback = fallback or line
        inputs = dataset._inputs()
        dataset = inputs[0] if inputs else None
    return fallback
