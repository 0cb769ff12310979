"""Packed sequences, whose batch sizes PyTorch's recurrent layers read through a pointer.

A replay has no data, so the journal has the batch sizes of each `pack_padded_sequence`. In a replay
they are a real tensor, which carries them along for those who read it.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import torch
from torch._prims_common import make_contiguous_strides_for
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes

from ..journal import RefusedError
from ..recording import Recording
from .kernels import AUTOGRAD, BACKEND_SELECT, BELOW_AUTOGRAD, BELOW_BACKEND_SELECT, Kernels
from .shapes import Shape, ShapesByData

_aten = torch.ops.aten
_PACK = _aten._pack_padded_sequence.default
_PAD = _aten._pad_packed_sequence.default
_SELECT = _aten.select.int
_READ = _aten._local_scalar_dense.default
LAYERS = {_aten.lstm.data, _aten.gru.data, _aten.rnn_tanh.data, _aten.rnn_relu.data}
"""Of packed sequences. In inference mode a dispatch mode gets them as they are."""
_NAME = "packed sequence"
_VALUES = "_tidewheel_values"
"""Attribute of a real tensor in a replay: what it holds."""
_ENTRY_BYTES = 100


class PackedSequences:
    def __init__(self, session: Recording, shapes: ShapesByData) -> None:
        self._session, self._shapes = session, shapes
        self.kernels = Kernels()

    def hook(self) -> None:
        self.kernels.put(_PACK, self._pack, BACKEND_SELECT)
        self.kernels.put(_PAD, self._pad, AUTOGRAD)

    def again(self, operation: Any, args: Any) -> tuple[Any, ...] | None:
        """In a replay: what data decided, as ReplayMode takes it; None where they did not."""
        if operation is _PACK and self._session.is_active:
            sizes = self._session.journal.replay(_NAME)
            return _shape(args[0], sum(sizes), *args[0].shape[2:]), tensor_of(sizes)
        if operation is _PAD:  # In inference mode; else autograd's key comes before.
            return _padded_shapes(*self._padding(*args))
        if operation is _SELECT or operation is _READ:
            values = values_of(args[0])
            if values is not None:
                return (values[0] if operation is _READ else tensor_of(values[args[2]]),)
        return self._shapes.again(operation, args)

    def _pack(self, keys: Any, *args: Any) -> Any:
        session = self._session
        data, batch_sizes = _PACK.redispatch(keys & BELOW_BACKEND_SELECT, *args)
        if session.is_active:
            with session.nesting.inside():
                sizes = _kept(batch_sizes)
            if session.may_read(_ENTRY_BYTES + len(sizes) * sizes.itemsize):
                session.journal.record(_NAME, sizes)
        return data, batch_sizes

    def _pad(self, keys: Any, *args: Any) -> Any:
        if self._session.is_replaying and self._session.is_active:
            return _padded(*self._padding(*args))
        return _PAD.redispatch(keys & BELOW_AUTOGRAD, *args)

    def _padding(
        self, data: torch.Tensor, batch_sizes: torch.Tensor, first: bool, _value: float, length: int
    ) -> tuple[torch.Tensor, Sequence[int], bool, int]:
        """From the operation's arguments: the data, batch sizes, `batch_first` and the length."""
        values = values_of(batch_sizes)
        if values is None and type(batch_sizes) is FakeTensor:
            reason = "the batch sizes of a packed sequence come from elsewhere than packing"
            raise RefusedError(reason)
        if values is None:  # Packed before the first step.
            with self._session.nesting.inside(), _disable_current_modes():
                values = tuple(batch_sizes.tolist())
        return data, values, first, length


class BatchSizes:
    """In a description of a batch that came packed out of a loader."""

    def __init__(self, batch_sizes: torch.Tensor) -> None:
        self._sizes = _kept(batch_sizes)

    def build(self) -> torch.Tensor:
        return tensor_of(self._sizes)


def _kept(batch_sizes: torch.Tensor) -> array[int]:
    """One byte for each where no batch has more than 255 sequences."""
    sizes = batch_sizes.tolist()
    return array("B" if max(sizes) < 256 else "L", sizes)


def tensor_of(values: Sequence[int] | int) -> torch.Tensor:
    """A real tensor, from which a replay can tell the values."""
    with _disable_current_modes():
        tensor = torch.tensor(values, dtype=torch.int64)
    setattr(tensor, _VALUES, (values,) if isinstance(values, int) else tuple(values))
    return tensor


def values_of(tensor: object) -> tuple[int, ...] | None:
    return getattr(tensor, _VALUES, None)


def _padded(data: torch.Tensor, sizes: Sequence[int], batch_first: bool, length: int) -> Any:
    """On fake tensors, with a gradient where `data` has one."""
    (size, *_), lengths = _padded_shapes(data, sizes, False, length)
    padded = data[0].expand(size).contiguous()
    counts = torch.empty(lengths[0], dtype=torch.int64)
    return padded.transpose(0, 1) if batch_first else padded, counts


def _padded_shapes(
    data: torch.Tensor, sizes: Sequence[int], batch_first: bool, length: int
) -> tuple[Shape, Shape]:
    """`length`: at least so many steps."""
    shape = _shape(data, max(len(sizes), length), sizes[0], *data.shape[1:])
    if batch_first:
        (steps, batch, *rest), (of_step, of_batch, *others), dtype, device = shape
        shape = (batch, steps, *rest), (of_batch, of_step, *others), dtype, device
    return shape, ((sizes[0],), (1,), torch.int64, "cpu")


def _shape(like: torch.Tensor, *size: int) -> Shape:
    return size, make_contiguous_strides_for(size), like.dtype, str(like.device)
