"""Keras: its steps and batches, where the script prepares what it trains from, and its arithmetic.

The script prepares in its `PyDataset`, or the `map` of tf.data. Each layer tells the dtype in which
it computes, which follows from `keras.mixed_precision` and its own `dtype`; so the compiled step
stays as it is.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterable
from functools import partial, wraps
from time import monotonic
from types import FrameType, ModuleType
from typing import Any

from .call_sites import notes_construction
from .cells import BITS16_WORK, FLOAT32_WORK, TF32_WORK, WAIT
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


_SECONDS = 60.0
"""Between two looks at the layers."""
_KERNELS = ("_kernel", "kernel", "recurrent_kernel")
_PASSES = {True: 3, False: 2}
"""Forward, and backward for the input and for a weight that is trained."""


class KerasArithmetic:
    def __init__(self) -> None:
        self._look_at = 0.0

    def stepped(self, callbacks: Any, values: Any) -> None:
        """`callbacks`: Keras' list of them, which knows the model, built by its first step."""
        if values is None or monotonic() < self._look_at:
            return
        self._look_at = monotonic() + _SECONDS
        float32 = float32_kind()
        if float32 is None:
            return
        for kind, operations in operations_of(callbacks._model._flatten_layers(), float32).items():
            values[kind] = operations


def float32_kind() -> int | None:
    """As what products of float32 are computed; None where Keras' backend does not tell."""
    from keras.src import backend

    if backend.backend() == "torch":
        import torch

        from .arithmetic import allows_tf32

        is_tf32 = torch.cuda.is_available() and allows_tf32("matmul")
    elif backend.backend() == "tensorflow":
        from tensorflow import config

        is_allowed = config.experimental.tensor_float_32_execution_enabled()
        is_tf32 = is_allowed and bool(config.list_logical_devices("GPU"))
    else:
        return None
    return TF32_WORK if is_tf32 else FLOAT32_WORK


def operations_of(layers: Iterable[Any], float32: int) -> dict[int, float]:
    """Of one sample: the batch is not known, and too few only widen a forecast."""
    sums = dict.fromkeys((FLOAT32_WORK, TF32_WORK, BITS16_WORK), 0.0)
    kinds = {"float32": float32, "bfloat16": BITS16_WORK, "float16": BITS16_WORK}
    for layer in layers:
        kind = kinds.get(getattr(layer, "compute_dtype", None) or "")
        if kind is None:
            continue
        for size in _sizes(layer):
            sums[kind] += 2.0 * size * _positions(layer) * _PASSES[bool(layer.trainable)]
    return sums


def _sizes(layer: Any) -> list[int]:
    """Of the weights that it multiplies with. `_kernel` is that of `kernel` without adapters."""
    found = {}
    for name in _KERNELS:
        shape = getattr(getattr(layer, name, None), "shape", None)
        if shape is not None and len(shape) > 1:
            found[name.lstrip("_")] = math.prod(shape)
    return list(found.values())


def _positions(layer: Any) -> int:
    """Of one sample, how often its kernel is used: those of its output, where it is known."""
    try:
        shape = layer.output.shape
    except Exception:  # Of a model that is no graph of layers.
        return 1
    places = shape[2:] if getattr(layer, "data_format", None) == "channels_first" else shape[1:-1]
    return math.prod(place or 1 for place in places)
