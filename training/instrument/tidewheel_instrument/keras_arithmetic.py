"""In what arithmetic the layers of Keras multiply. Each tells the dtype in which it computes, which
follows from `keras.mixed_precision` and its own `dtype`; so the compiled step stays as it is."""

from __future__ import annotations

import math
from collections.abc import Iterable
from time import monotonic
from typing import Any

from .cells import BITS16_WORK, FLOAT32_WORK, TF32_WORK

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
