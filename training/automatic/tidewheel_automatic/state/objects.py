"""Finds the tensors, optimizers and generators that a script can reach, each under a path.

A replay brings the script to the same place with objects of the same shape, so a path names the
same object in both processes: the stack's frames, their variables, attributes, keys and indices.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import os
import sys
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from .frames import holders, loops, on_stack
from .randomness import is_generator

Path = tuple[object, ...]
Leaf = Callable[[Path, Any, bool], Any]
"""Gets path, object and whether a module owns it; returns the object or another in its place."""

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The hooks, whose frames and objects are none of the script's."""
_TORCH = os.path.dirname(os.path.abspath(torch.__file__))
_LONG = 20_000
_DEEP = 40
_WORD = ctypes.sizeof(ctypes.c_void_p)
_ATOMS = (str, bytes, int, float, bool, complex, type(None), type, types.ModuleType, torch.dtype)


def visit(leaf: Leaf, loaders: Iterable[tuple[object, object, object]] = ()) -> None:
    """Calls `leaf` for each object; replaces those for which it returns another.

    `loaders`: those in use with a number and PyTorch's iterator, since a script may have no
    variable for them.
    """
    loaders = list(loaders)
    walk = _Walk(leaf)
    frames = _frames()
    for index, frame in enumerate(reversed(frames)):
        walk.frame(frame, ("frame", index, frame.f_code.co_name))
    for name, module in _own_modules():
        walk.value(vars(module), ("module", name), False, 0)
    for number, loader, _ in loaders:
        walk.value(loader, ("loader", number), False, 0)
    # What such an iterator holds, such as a sampler's generator, is made again with the iterator.
    walk.pass_over(iterator for _, _, iterator in loaders)
    for index, frame in enumerate(reversed(frames)):
        walk.stack(frame, ("held", index, frame.f_code.co_name))


def visit_one(value: object, leaf: Leaf) -> None:
    """Only what this object leads to."""
    _Walk(leaf).value(value, (), False, 0)


def outer_loops() -> dict[object, object]:
    """How far each loop of the script is that holds another one, such as that over its epochs."""
    frames = [(index, frame) for index, frame in enumerate(reversed(_frames()))]
    found = [(index, frame, loop) for index, frame in frames for loop in loops(frame)]
    values = {
        (index, start): frame.f_locals.get(name) for index, frame, (start, name) in found[:-1]
    }
    return {place: value for place, value in values.items() if isinstance(value, (int, str))}


def _frames() -> list[types.FrameType]:
    """The script's part of the stack, the innermost first."""
    found = []
    frame: types.FrameType | None = sys._getframe()
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((_HERE, _TORCH, "<frozen")):
            found.append(frame)
        frame = frame.f_back
    return found


def _own_modules() -> Iterator[tuple[str, types.ModuleType]]:
    """Modules of the script's own folder: their globals outlive every frame."""
    main = sys.modules.get("__main__")
    folder = os.path.dirname(os.path.abspath(getattr(main, "__file__", None) or "."))
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        is_own = file.startswith(folder + os.sep) and "site-packages" not in file
        if isinstance(module, types.ModuleType) and (name == "__main__" or is_own):
            yield name, module


class _Walk:
    def __init__(self, leaf: Leaf) -> None:
        self._leaf = leaf
        self._seen: dict[int, tuple[object, object]] = {}
        """By identity: the object, which must stay alive meanwhile, and what stands for it."""

    @functools.cached_property
    def _holders(self) -> dict[int, Any]:
        return holders()

    def pass_over(self, values: Iterable[object]) -> None:
        """Takes all that they lead to, and that was not seen before, for seen."""
        leaf, self._leaf = self._leaf, lambda _path, value, _owned: value
        for value in values:
            self.value(value, (), False, 0)
        self._leaf = leaf

    def frame(self, frame: types.FrameType, path: Path) -> None:
        variables = frame.f_locals
        if variables is frame.f_globals:
            self.value(variables, path, False, 0)
            return
        is_changed = False
        for name, value in list(variables.items()):
            new = self.value(value, (*path, name), False, 0)
            if new is not value:
                variables[name] = new
                is_changed = True
        if is_changed and sys.version_info < (3, 13):
            # Before PEP 667 f_locals is a copy.
            ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))

    def stack(self, frame: types.FrameType, path: Path) -> None:
        """What no variable leads to, such as the tensors of a loop over `x.split(8)`."""
        for place, value in on_stack(frame, self._holders).items():
            self.value(value, (*path, place), False, 0)

    def value(self, value: Any, path: Path, owned: bool, depth: int) -> Any:
        if isinstance(value, _ATOMS) or depth > _DEEP:
            return value
        if id(value) in self._seen:
            return self._seen[id(value)][1]
        self._seen[id(value)] = (value, value)
        owned = owned or isinstance(value, torch.nn.Module)
        if isinstance(value, torch.Tensor) or is_generator(value):
            new = self._leaf(path, value, owned)
        elif isinstance(value, torch.optim.Optimizer):
            new = self._leaf(path, value, owned)
            self.value(value.param_groups, (*path, "param_groups"), True, depth + 1)
            self._beside_optimizer(value, path, depth)
        else:
            self._children(value, path, owned, depth)
            new = value
        self._seen[id(value)] = (value, new)
        return new

    def _beside_optimizer(self, optimizer: Any, path: Path, depth: int) -> None:
        """What a class of its own keeps in attributes, such as an optimizer that it wraps."""
        for name, child in list(vars(optimizer).items()):
            if name not in ("state", "param_groups", "defaults"):
                new = self.value(child, (*path, name), True, depth + 1)
                if new is not child:
                    setattr(optimizer, name, new)

    def _children(self, value: Any, path: Path, owned: bool, depth: int) -> None:
        if isinstance(value, dict):
            for index, (key, child) in enumerate(list(value.items())):
                name = key if isinstance(key, (str, int)) else ("item", index)
                new = self.value(child, (*path, name), owned, depth + 1)
                if new is not child:
                    value[key] = new
        elif isinstance(value, (list, deque)):
            for index, child in enumerate(list(value) if len(value) <= _LONG else []):
                new = self.value(child, (*path, index), owned, depth + 1)
                if new is not child:
                    value[index] = new
        elif isinstance(value, tuple):
            for index, child in enumerate(value):
                _put(value, index, self.value(child, (*path, index), owned, depth + 1))
        else:
            self._of_object(value, path, owned, depth)

    def _of_object(self, value: Any, path: Path, owned: bool, depth: int) -> None:
        if isinstance(value, types.GeneratorType):
            if value.gi_frame is not None and not value.gi_running:
                self.frame(value.gi_frame, (*path, "frame"))
                self.stack(value.gi_frame, (*path, "held"))
        elif isinstance(value, types.MethodType):
            self.value(value.__self__, (*path, "self"), owned, depth + 1)
        elif isinstance(value, types.FunctionType):
            self._closure(value, path, depth)
        else:
            self._attributes(value, path, owned, depth)

    def _closure(self, function: types.FunctionType, path: Path, depth: int) -> None:
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=False
        ):
            try:
                content = cell.cell_contents
            except ValueError:
                continue  # Not bound yet.
            new = self.value(content, (*path, name), False, depth + 1)
            if new is not content:
                cell.cell_contents = new

    def _attributes(self, value: Any, path: Path, owned: bool, depth: int) -> None:
        if type(value).__module__.startswith("tidewheel_automatic"):
            return
        if isinstance(value, functools.partial) or _is_iterator_of_c(value):
            # What it holds is no attribute. What changes is put into that, never into itself.
            for index, child in enumerate(gc.get_referents(value)):
                self.value(child, (*path, index), owned, depth + 1)
            return
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict):
            self.value(attributes, (*path, "."), owned, depth + 1)
        for name in _slots(type(value)):  # type: ignore[arg-type] # Every class is hashable.
            child = getattr(value, name, None)
            new = self.value(child, (*path, name), owned, depth + 1)
            if new is not child:
                # A frozen dataclass refuses its own assignment.
                object.__setattr__(value, name, new)


def _is_iterator_of_c(value: object) -> bool:
    kind = type(value)
    return kind.__module__ in ("builtins", "itertools") and hasattr(kind, "__next__")


def _put(values: tuple[Any, ...], index: int, new: Any) -> None:
    """In its place, since the iterator of a loop holds this tuple and takes no other."""
    old = values[index]
    if new is not old:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(new))
        place = id(values) + tuple.__basicsize__ + _WORD * index
        ctypes.c_void_p.from_address(place).value = id(new)
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(old))


@functools.cache
def _slots(kind: type) -> tuple[str, ...]:
    """Of classes that Python code defines."""
    named: list[str] = []
    for owner in kind.__mro__:
        own = vars(owner).get("__slots__", ())
        named += [own] if isinstance(own, str) else own
    return tuple(
        name
        for name in named
        if isinstance(getattr(kind, name, None), types.MemberDescriptorType) and "__" not in name
    )
