"""What operations give on fake tensors, remembered by the shapes that they get.

A fake tensor's operation takes 0.15 ms and more, most of it in PyTorch's Python code. A loop of
many small operations, such as the steps of an environment between two optimizer steps, would be
replayed some twenty times slower than it ran.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

Key = tuple[Any, ...]
_MOST_KEYS = 4_096
"""Shapes that always change, such as of a growing sequence, would fill the memory."""
_LONGEST = 2_048
_PLAIN = (
    bool,
    int,
    float,
    str,
    type(None),
    torch.dtype,
    torch.device,
    torch.layout,
    torch.memory_format,
)
_NUMBERS = (bool, int, float)
_BY_DATA = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
_DEVICE = torch.ops.prim.device.default


@dataclass(frozen=True)
class _Made:
    """How a result is made again: a tensor of its own, or a view of the first argument."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    dtype: torch.dtype
    device: torch.device
    is_view: bool


class Operations:
    """`run` gives what the fake tensor mode gives, with fake tensors of its own each time."""

    def __init__(self, fake: FakeTensorMode, fake_of: Callable[[Any], Any]) -> None:
        """`fake_of`: the fake tensor of a parameter that is still real."""
        self._fake = fake
        self._fake_of = fake_of
        self._made: dict[Key, _Made | tuple[type, list[_Made]]] = {}
        self._kinds: dict[Any, tuple[bool, bool]] = {}
        """Of each operation: whether shapes decide its result, and whether it is pointwise."""

    def run(self, func: Any, args: Any, kwargs: dict[str, Any], compute: Callable[[], Any]) -> Any:
        """`compute`: gives the result where nothing is remembered."""
        if func is _DEVICE and type(args[0]) is FakeTensor:
            return args[0].fake_device
        key = self._key(func, args, kwargs)
        if key is None:
            return compute()
        made = self._made.get(key)
        if made is None:
            result = compute()
            self._remember(key, func, args, result)
            return result
        if isinstance(made, _Made):
            return self._make(made, args)
        kind, each = made
        return kind(self._make(one, args) for one in each)

    def clear(self) -> None:
        self._made.clear()

    def _key(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Key | None:
        known = self._kinds.get(func)
        if known is None:
            known = (
                not func._schema.is_mutable and _BY_DATA.isdisjoint(func.tags),
                (torch.Tag.pointwise in func.tags),
            )
            self._kinds[func] = known
        is_by_shape, is_pointwise = known
        if not is_by_shape:
            return None
        parts: list[Any] = [func, torch.get_default_dtype(), torch.is_inference_mode_enabled()]
        # Without a tensor the device comes from elsewhere; constants alone give a constant.
        has_tensor = False
        for value in (*args, *kwargs.items()):
            is_tensor = _add(parts, value, without_numbers=is_pointwise)
            if is_tensor is None or len(parts) > _LONGEST:
                return None
            has_tensor |= is_tensor
        return tuple(parts) if has_tensor else None

    def _remember(self, key: Key, func: Any, args: Any, result: Any) -> None:
        first = args[0] if args else None
        if isinstance(first, torch.nn.Parameter):
            first = self._fake_of(first)
        if len(self._made) >= _MOST_KEYS:
            self._made.clear()
        may_alias = any(value.alias_info is not None for value in func._schema.returns)
        if type(result) is FakeTensor:
            made = _made_of(result, first, may_alias=may_alias)
            if made is not None:
                self._made[key] = made
        elif type(result) in (tuple, list):
            each = [
                _made_of(one, first, may_alias=may_alias) if type(one) is FakeTensor else None
                for one in result
            ]
            known = [one for one in each if one is not None]
            if len(known) == len(each):
                self._made[key] = type(result), known

    def _make(self, made: _Made, args: Any) -> FakeTensor:
        if made.is_view:
            first = args[0]
            if isinstance(first, torch.nn.Parameter):
                first = self._fake_of(first)
            meta = torch.empty((), dtype=made.dtype, device="meta")
            meta.set_(first.untyped_storage(), made.offset, made.shape, made.stride)
        else:
            meta = torch.empty_strided(made.shape, made.stride, dtype=made.dtype, device="meta")
        return FakeTensor(self._fake, meta, made.device)


def _add(parts: list[Any], value: Any, *, without_numbers: bool) -> bool | None:
    """Adds what decides the result's shape. Whether it has a tensor that is no constant; None where
    more than shapes may decide.

    `without_numbers`: their values do not matter, and often change.
    """
    kind = type(value)
    if kind in _PLAIN:
        parts.append(kind if without_numbers and kind in _NUMBERS else (kind, value))
        return False
    if kind in (tuple, list):
        parts.append((kind, len(value)))
        has_tensor = False
        for item in value:
            is_tensor = _add(parts, item, without_numbers=without_numbers)
            if is_tensor is None or len(parts) > _LONGEST:
                return None
            has_tensor |= is_tensor
        return has_tensor
    return _add_tensor(parts, value, kind)


def _add_tensor(parts: list[Any], value: Any, kind: type) -> bool | None:
    if kind is FakeTensor:
        device = value.fake_device
    elif kind in (torch.Tensor, torch.nn.Parameter):
        device = value.device
    else:
        return None
    if value.layout is not torch.strided or value.dtype.is_complex:
        return None
    # A real tensor's view is no view of a fake tensor.
    parts.append(kind is torch.Tensor)
    parts += (value.shape, value.stride(), value.storage_offset(), value.dtype, device)
    return kind is not FakeTensor or value.constant is None


def _made_of(result: FakeTensor, first: Any, *, may_alias: bool) -> _Made | None:
    """None for a result that has more to it than its shape."""
    is_plain = result.layout is torch.strided and not result.dtype.is_complex
    if result is first or not is_plain or result.constant is not None or result.requires_grad:
        return None
    is_view = type(first) is FakeTensor and _storage(result) == _storage(first)
    offset = result.storage_offset()
    if not is_view and (may_alias or offset > 0):
        return None
    return _Made(
        tuple(result.shape),
        tuple(result.stride()),
        int(offset),
        result.dtype,
        result.fake_device,
        is_view,
    )


def _storage(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)
