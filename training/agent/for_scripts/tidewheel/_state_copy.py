"""Copies a training's state into memory that the next copy uses again.

Fresh memory costs a page fault for each 4 KiB, which takes longer than copying into it.

Data on a GPU is queued for a copy on the stream that computes, so the copy holds what the step left
there, and no later step changes it before. The training goes on at once; `settle` waits.
"""

from __future__ import annotations

import copy
import sys
from collections import OrderedDict
from typing import Any

_IMMUTABLE = (int, float, complex, bool, str, bytes, type(None))


class StateCopy:
    """One copy of a state: dicts, lists and tuples of tensors, arrays and other values.

    Tensors of torch and arrays of numpy go into kept memory, on the CPU. Tensors that are one in
    the state, such as tied weights, are one in the copy. An object with `__tidewheel_copy__` copies
    itself: it gets a function that copies the value of an attribute. Everything else is
    deep-copied.
    """

    def __init__(self) -> None:
        self._buffers: dict[tuple[object, ...], Any] = {}
        self._unused: dict[tuple[object, ...], Any] = {}
        self._seen: dict[object, Any] = {}
        self._events: dict[Any, tuple[Any, Any]] = {}
        """Of each device: before the first copy from it, and after the last."""

    @property
    def nbytes(self) -> int:
        """Of the memory that is kept."""
        return sum(int(buffer.nbytes) for buffer in self._buffers.values())

    def take(self, state: object) -> Any:  # noqa: ANN401 (the same type as the state)
        """The copy of `state`; whole after `settle`, and valid until the next call."""
        self._unused, self._buffers, self._seen = self._buffers, {}, {}
        self._events = {}
        try:
            return self._copy(state, ())
        finally:
            self._unused, self._seen = {}, {}
            for device, (_, last) in self._events.items():
                last.record(sys.modules["torch"].cuda.current_stream(device))

    def settle(self) -> float:
        """Waits until the copy is whole; any thread may. Returns the seconds for which the copies
        kept a GPU from computing."""
        events, self._events = self._events, {}
        for _, last in events.values():
            last.synchronize()
        return max((first.elapsed_time(last) / 1000 for first, last in events.values()), default=0)

    def _copy(self, value: Any, path: tuple[object, ...]) -> Any:  # noqa: ANN401
        if isinstance(value, _IMMUTABLE):
            return value
        kind = type(value)
        if kind is dict:
            return {key: self._copy(item, (*path, key)) for key, item in value.items()}
        if kind is OrderedDict:
            ordered = OrderedDict((k, self._copy(item, (*path, k))) for k, item in value.items())
            # torch keeps the versions of modules in an attribute, `_metadata`.
            ordered.__dict__.update(copy.deepcopy(value.__dict__))
            return ordered
        if kind in (list, tuple):
            return kind(self._copy(item, (*path, i)) for i, item in enumerate(value))
        if own := getattr(kind, "__tidewheel_copy__", None):
            return own(value, lambda name, item: self._copy(item, (*path, name)))
        return self._copy_array(value, path)

    def _copy_array(self, value: Any, path: tuple[object, ...]) -> Any:  # noqa: ANN401
        torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
        if torch is not None and type(value) in (torch.Tensor, torch.nn.Parameter):
            return self._copy_tensor(torch, value.detach(), path)
        if numpy is not None and type(value) is numpy.ndarray and value.dtype != object:
            buffer = self._unused.get(path)
            if type(buffer) is not numpy.ndarray or not _fits(buffer, value):
                buffer = numpy.empty_like(value)
            numpy.copyto(buffer, value)
            self._buffers[path] = buffer
            return buffer
        return copy.deepcopy(value)

    def _copy_tensor(self, torch: Any, value: Any, path: tuple[object, ...]) -> Any:  # noqa: ANN401
        if value.layout != torch.strided or value.is_quantized or value.device.type == "meta":
            return copy.deepcopy(value)
        where = (value.device, value.data_ptr(), value.shape, value.stride(), value.dtype)
        if value.numel() and where in self._seen:
            return self._seen[where]
        buffer = self._unused.get(path)
        if not isinstance(buffer, torch.Tensor) or not _fits(buffer, value):
            # Only pinned memory is filled while the CPU goes on.
            buffer = torch.empty(value.shape, dtype=value.dtype, pin_memory=value.is_cuda)
        if value.is_cuda and value.device not in self._events:
            self._events[value.device] = _events(torch, value.device)
        buffer.copy_(value, non_blocking=value.is_cuda)
        self._buffers[path] = self._seen[where] = buffer
        return buffer


def _events(torch: Any, device: Any) -> tuple[Any, Any]:  # noqa: ANN401
    """One that is recorded now, and one for later."""
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record(torch.cuda.current_stream(device))
    return first, last


def _fits(buffer: Any, value: Any) -> bool:  # noqa: ANN401
    return bool(buffer.shape == value.shape and buffer.dtype == value.dtype)
