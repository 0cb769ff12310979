"""Operations whose result has a shape that depends on data, such as `x[mask]` or `mask.nonzero()`.

A replay has no data. The journal has the shapes that such operations gave, in order. They are
recorded inside PyTorch, where C++ and TorchScript call them, too; other operations cost no more
than before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..recording import Recording
from .kernels import BACKEND_SELECT, BELOW_BACKEND_SELECT, Kernels

Shape = tuple[tuple[int, ...], tuple[int, ...], torch.dtype, str]
"""Of a tensor: its shape, strides, type and device."""
Shapes = tuple[Shape, ...]
"""Of an operation's results."""
_aten = torch.ops.aten
_INDEX = _aten.index.Tensor
_SHAPED = {
    _INDEX,
    _aten.nonzero.default,
    _aten.masked_select.default,
    _aten._unique.default,
    _aten._unique2.default,
    _aten.unique_dim.default,
    _aten.unique_consecutive.default,
    _aten.unique_dim_consecutive.default,
    _aten.bincount.default,
    _aten.repeat_interleave.Tensor,
    _aten._ctc_loss.default,
    _aten._ctc_loss.Tensor,
}
COMPOSED = {
    _aten.where.default,
    _aten.nonzero_numpy.default,
    _aten.argwhere.default,
    _aten.repeat_interleave.self_Tensor,
    _aten.combinations.default,
    _aten.ctc_loss.IntList,
    _aten.ctc_loss.Tensor,
}
"""Of the ones above. In inference mode a dispatch mode gets them as they are."""
_CALLERS = {
    _aten._index_put_impl_.default,
    _aten.isin.Tensor_Tensor,
    _aten.linalg_matrix_exp.default,
    _aten._to_sparse.default,
    _aten._to_sparse.sparse_dim,
}
"""Their kernels call the ones above, as `x[mask] = y` does. A replay knows their shapes without."""
_MASKS = (torch.bool, torch.uint8)
_ENTRY_BYTES = 200


class ShapesByData:
    def __init__(self, session: Recording) -> None:
        self._session = session
        self._known: dict[Shapes, Shapes] = {}
        """Those of the journal: most come again and again."""
        self._shaped = set(_SHAPED)
        self.kernels = Kernels()

    def hook(self) -> None:
        for operation in _SHAPED:
            self.kernels.put(operation, self._recording(operation), BACKEND_SELECT)
        for operation in _CALLERS:
            self.kernels.put_inside(operation, self._session.nesting, BACKEND_SELECT)

    def hook_others(self) -> None:
        """At the first step: those of libraries that the script has imported by then."""
        if hasattr(torch.ops.torchvision, "nms"):
            operation = torch.ops.torchvision.nms.default
            self.kernels.put(operation, self._recording(operation), BACKEND_SELECT)
            self._shaped.add(operation)

    def again(self, operation: Any, args: Any) -> Shapes | None:
        """In a replay: of what the operation gave, or None where data do not decide."""
        is_recorded = operation in self._shaped and self._session.is_active
        if not is_recorded or not _reads(operation, args):
            return None
        shapes: Shapes = self._session.journal.replay(_name_of(operation))
        return shapes

    def _recording(self, operation: Any) -> Callable[..., Any]:
        session, name = self._session, _name_of(operation)

        def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
            if not session.is_active or not _reads(operation, args):
                return operation.redispatch(keys & BELOW_BACKEND_SELECT, *args, **kwargs)
            with session.nesting.inside():
                result = operation.redispatch(keys & BELOW_BACKEND_SELECT, *args, **kwargs)
            results = (result,) if isinstance(result, torch.Tensor) else result
            session.journal.record(name, self._kept(tuple(map(_shape_of, results))))
            return result

        return kernel

    def _kept(self, shapes: Shapes) -> Shapes:
        if shapes not in self._known and self._session.may_read(_ENTRY_BYTES):
            self._known[shapes] = shapes
        return self._known.get(shapes, shapes)


def _name_of(operation: Any) -> str:
    """The same for its overloads: of lengths, CTC's loss makes numbers where they have data."""
    name: str = operation.name()
    return name.partition(".")[0]


def _reads(operation: Any, args: Any) -> bool:
    """Whether data decide the shape: with indices that are numbers they do not."""
    return operation is not _INDEX or any(
        index is not None and index.dtype in _MASKS for index in args[1]
    )


def _shape_of(tensor: torch.Tensor) -> Shape:
    return tuple(tensor.shape), tensor.stride(), tensor.dtype, str(tensor.device)
