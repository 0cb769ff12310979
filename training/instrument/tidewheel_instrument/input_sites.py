"""Where the script prepares what Keras trains from: its `PyDataset`, or the `map` of tf.data."""

from __future__ import annotations

import contextlib
import sys
from functools import wraps
from types import FrameType, ModuleType
from typing import Any

from .frameworks import replace
from .meter import Meter
from .sites import notes_construction

_DEEPEST = 100
"""Transformations of a dataset."""


def lay_py_dataset(module: ModuleType, meter: Meter) -> None:
    def made(data: Any, frame: FrameType | None) -> None:
        while frame is not None and frame.f_code.co_name == "__init__":
            frame = frame.f_back  # The script's own class.
        meter.sites.made(data, frame)

    kind = module.PyDataset
    replace(meter, kind, "__init__", notes_construction(kind.__init__, made))


def lay_tf_map(module: ModuleType, meter: Meter) -> None:
    """Every dataset has the `map` of this class."""
    kind = module.DatasetV2
    original = kind.map

    @wraps(original)
    def mapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = original(self, *args, **kwargs)
        meter.sites.made(made, sys._getframe(1))
        return made

    replace(meter, kind, "map", mapped)


def note_input(meter: Meter, adapter: Any) -> None:
    """`adapter`: of Keras, around what `fit` trains from."""
    with contextlib.suppress(Exception):
        data = getattr(adapter, "py_dataset", None)
        if data is not None:
            meter.sites.note("pyDataset", meter.sites.trains_from(data))
            return
        meter.sites.note("map", _map_line(meter, getattr(adapter, "_dataset", None)))


def _map_line(meter: Meter, dataset: Any) -> str | None:
    """Of the last `map` that calls one at a time; else of the last `map`."""
    fallback: str | None = None
    for _ in range(_DEEPEST):
        if dataset is None:
            break
        line = meter.sites.trains_from(dataset)
        if line is not None:
            if not type(dataset).__name__.startswith("_Parallel"):
                return line
            fallback = fallback or line
        inputs = dataset._inputs()
        dataset = inputs[0] if inputs else None
    return fallback
