"""Tensors without data, which stand in while a resumed script runs through the steps it has done.

PyTorch's fake tensors know shapes, types and devices. Under this mode every operation gives one,
and no operation changes a real tensor in a way that lasts: all of them are restored afterwards.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable
from typing import Any, Literal

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.nn.utils.rnn import PackedSequence
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_map, tree_map_only

from .operations import Operations
from .recorded import packed, shapes

_COMPOSED = shapes.COMPOSED | packed.LAYERS
_IN_CPP = torch._C.DispatchKey.CompositeImplicitAutograd
_PIN = torch.ops.aten._pin_memory.default
_ATOMS = (str, bytes, int, float, bool, complex, type(None))


def _known_from_args(_operation: Any, _args: Any) -> None:
    return None


class _FakeMode(FakeTensorMode):
    def __deepcopy__(self, _memo: dict[int, Any]) -> _FakeMode:
        """Each fake tensor holds its mode, and a copy of a mode crashes PyTorch: it would free the
        weak references to storages twice. Scripts copy their best weights by `deepcopy`."""
        return self


class ReplayMode(TorchDispatchMode):
    def __init__(
        self, known: Callable[[Any, Any], tuple[Any, ...] | None] = _known_from_args
    ) -> None:
        """`known`: of an operation and its arguments, what it gave where data decide that: the
        shape of each result, or the result itself."""
        super().__init__()
        self._known = known
        self._fake = _FakeMode(allow_non_fake_inputs=True)
        self._fakes: dict[int, tuple[torch.nn.Parameter, Any]] = {}
        """By identity: the parameter, which stays alive meanwhile, and what stands for it."""
        self._operations = Operations(self._fake, self._fake_of)
        self.is_busy = False
        """Whether PyTorch itself is at work here, whose reads are none of the script's."""
        self._cudnn = torch.backends.cudnn.enabled

    def begin(self) -> None:
        # cuDNN's recurrent layers look into the memory of their weights, which fake tensors lack,
        # and keep what they find; a compiled function that meets fake tensors is compiled for them.
        self._cudnn = torch.backends.cudnn.enabled
        torch.backends.cudnn.enabled = False
        _set_stance("force_eager")
        self.__enter__()

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: Any = (),
        kwargs: Any = None,
    ) -> Any:
        known = self._known(func, args)
        if known is not None:
            made = tuple(map(self._made, known))
            return made if len(made) > 1 else made[0]
        options = kwargs or {}
        if func in _COMPOSED:
            with self:  # Not `decompose`: of some PyTorch has another in Python, for a compiler.
                return func._op_dk(_IN_CPP, *args, **options)
        was_busy, self.is_busy = self.is_busy, True
        try:
            result = self._operations.run(
                func, args, options, lambda: self._compute(func, args, options)
            )
        finally:
            self.is_busy = was_busy
        schema = func._schema
        if schema.is_mutable and len(schema.returns) == 1 and schema.returns[0].alias_info:
            for value, argument in zip(args, schema.arguments, strict=False):
                if argument.alias_info is not None and argument.alias_info.is_write:
                    # `x += 1` binds x to the result, which has to be the same object.
                    return value
        return result

    def _made(self, known: Any) -> Any:
        if not isinstance(known, tuple):
            return known
        size, stride, dtype, device = known
        meta = torch.empty_strided(size, stride, dtype=dtype, device="meta")
        return FakeTensor(self._fake, meta, torch.device(device))

    def _compute(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        given, options = args, kwargs
        if func is _PIN:  # PyTorch has no fake one; nothing tells pinned memory from other memory.
            func, given, options = torch.ops.aten.clone.default, args[:1], {}
        if not func._schema.is_mutable:
            given, options = tree_map_only(torch.nn.Parameter, self._fake_of, (given, options))
        with self._fake:
            return func(*given, **options)

    def _fake_of(self, parameter: torch.nn.Parameter) -> Any:
        """Made once: PyTorch forgets its own at once, and caches no operation on real tensors."""
        _, known = self._fakes.get(id(parameter), (parameter, None))
        if known is None or (known.shape, known.dtype) != (parameter.shape, parameter.dtype):
            known = self._fake.from_tensor(parameter)
            self._fakes[id(parameter)] = (parameter, known)
        return known

    def end(self) -> None:
        """From now on a fake tensor that meets real data is an error, never a wrong value."""
        self.__exit__(None, None, None)
        torch.backends.cudnn.enabled = self._cudnn
        _set_stance("default")
        self._fake.allow_non_fake_inputs = False
        self._fakes.clear()
        self._operations.clear()


def _set_stance(stance: Literal["default", "force_eager"]) -> None:
    """Of compiled functions. PyTorch before 2.6 has none, and a script without `torch.compile` has
    not loaded the compiler, which takes a second."""
    if "torch._dynamo" in sys.modules and hasattr(torch.compiler, "set_stance"):
        torch.compiler.set_stance(stance)


def is_fake(value: object) -> bool:
    return isinstance(value, FakeTensor)


def convert(fake: Any, change: Any) -> None:
    """What `Module.to` and its like do to a parameter, which stays the same object."""
    grad, fake.grad = fake.grad, None
    with torch.no_grad():
        changed = change(fake)
        if changed is not fake:
            fake.data = changed
            fake.fake_device = changed.fake_device
        if grad is not None:
            fake.grad = change(grad)


def without_modes() -> Any:
    """In this context operations are real even under a ReplayMode."""
    return _disable_current_modes()


def describe(batch: Any) -> Any:
    """The batch with a description in the place of each tensor, and a copy of everything else."""
    try:
        return tree_map(
            _describe_leaf, batch, is_leaf=lambda leaf: isinstance(leaf, PackedSequence)
        )
    except Exception:  # A named tuple of the script that checks what it is made of.
        return _Object.of(batch)


def _describe_leaf(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor):
        return _Description(tuple(leaf.shape), leaf.dtype, str(leaf.device))
    return leaf if isinstance(leaf, _ATOMS) else _Object.of(leaf)


def build(description: Any) -> Any:
    """Under a ReplayMode: the batch that was described, with fake tensors."""
    return tree_map(
        lambda leaf: leaf.build() if isinstance(leaf, (_Description, _Object)) else leaf,
        description,
    )


class _Description:
    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype, device: str) -> None:
        self.shape, self.dtype, self.device = shape, dtype, device

    def build(self) -> torch.Tensor:
        return torch.empty(self.shape, dtype=self.dtype, device=self.device)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Description) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.device))


class _Object:
    """An array, or an object of a class, pickled without the data of its tensors."""

    def __init__(self, content: bytes, tensors: list[_Description | packed.BatchSizes]) -> None:
        self.content, self.tensors = content, tensors
        self.nbytes = len(content)

    @classmethod
    def of(cls, value: Any) -> Any:
        """The value itself where it cannot be pickled."""
        file, tensors = io.BytesIO(), list[_Description | packed.BatchSizes]()
        pickler, sizes = pickle.Pickler(file), list[torch.Tensor]()

        def number(part: Any) -> int | None:
            if isinstance(part, PackedSequence):
                sizes.append(part.batch_sizes)
            if not isinstance(part, torch.Tensor):
                return None
            has_values = any(part is each for each in sizes)
            tensors.append(packed.BatchSizes(part) if has_values else _describe_leaf(part))
            return len(tensors) - 1

        pickler.persistent_id = number  # type: ignore[method-assign]
        try:
            pickler.dump(value)
        except Exception:  # Classes raise what they like.
            return value
        return cls(file.getvalue(), tensors)

    def build(self) -> Any:
        unpickler = pickle.Unpickler(io.BytesIO(self.content))
        unpickler.persistent_load = lambda number: self.tensors[number].build()  # type: ignore[method-assign]
        return unpickler.load()
