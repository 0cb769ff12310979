"""Numbers that PyTorch's C++ code reads out of tensors for the script: `torch.arange(count)`.

Python's own reads (`item`, `int`) are hooked by name. `torch.arange`, `torch.full`, `x.repeat` and
more read their arguments inside PyTorch, all by one operation. It is recorded at autograd's key:
what a kernel reads for itself does not pass there, and a replay, on other kernels, would not read
it.
"""

from __future__ import annotations

from typing import Any

import torch

from ..recording import Recording
from .kernels import AUTOGRAD, BELOW_AUTOGRAD, Kernels

_aten = torch.ops.aten
_READ = _aten._local_scalar_dense.default
_ONE_HOT = _aten.one_hot.default
_SPLIT = _aten.tensor_split.tensor_indices_or_sections
_CHECKS = (_aten._linalg_check_errors.default,)
"""They read numbers of real tensors alone."""
_NUMBER_BYTES = 32
_NAME = "number"


class NumberReads:
    def __init__(self, session: Recording) -> None:
        self._session = session
        self.kernels = Kernels()

    def hook(self) -> None:
        self.kernels.put(_READ, self._read, AUTOGRAD)
        self.kernels.put(_ONE_HOT, self._one_hot, AUTOGRAD)
        self.kernels.put(_SPLIT, self._split, AUTOGRAD)
        for operation in _CHECKS:
            self.kernels.put_inside(operation, self._session.nesting, AUTOGRAD)

    def _read(self, keys: Any, tensor: torch.Tensor) -> Any:
        session = self._session
        if not session.is_active:
            return _READ.redispatch(keys & BELOW_AUTOGRAD, tensor)
        if session.is_replaying:
            return session.journal.replay(_NAME)
        value = _READ.redispatch(keys & BELOW_AUTOGRAD, tensor)
        self._record(value, _NUMBER_BYTES)
        return value

    def _one_hot(self, keys: Any, labels: torch.Tensor, classes: int = -1) -> Any:
        """On real tensors it reads the least and the greatest label, too, to check them."""
        session = self._session
        if session.is_active and session.is_replaying:
            width = classes if classes >= 0 else session.journal.replay(_NAME)
            return labels.new_empty((*labels.shape, width))
        with session.nesting.inside():
            vectors = _ONE_HOT.redispatch(keys & BELOW_AUTOGRAD, labels, classes)
        if session.is_active and classes < 0:
            self._record(vectors.shape[-1], _NUMBER_BYTES)
        return vectors

    def _split(self, keys: Any, tensor: torch.Tensor, where: torch.Tensor, dim: int = 0) -> Any:
        """It reads its indices through a pointer, or the number of its sections."""
        session = self._session
        if not session.is_active:
            return _SPLIT.redispatch(keys & BELOW_AUTOGRAD, tensor, where, dim)
        if session.is_replaying:
            return tensor.tensor_split(session.journal.replay(_NAME), dim)
        with session.nesting.inside():
            parts = _SPLIT.redispatch(keys & BELOW_AUTOGRAD, tensor, where, dim)
            numbers = where.tolist()
        self._record(numbers, _NUMBER_BYTES * (1 + where.numel()))
        return parts

    def _record(self, value: Any, size: int) -> None:
        if self._session.may_read(size):
            self._session.journal.record(_NAME, value)
