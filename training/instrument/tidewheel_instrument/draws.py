"""Whether a function draws random numbers, or changes its data set."""

from __future__ import annotations

import pickle
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any

import torch

_DEEPEST = 5
_LONGEST = 64
"""Of a list; longer ones hold samples."""


class DrawWatch:
    """`places`: what the function may draw from or count in, beside the process's generators."""

    def __init__(self, places: tuple[Any, ...]) -> None:
        self._places = places
        self.has_drawn = False

    def watched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            before = self._state()
            try:
                return function(*args, **kwargs)
            finally:
                self.has_drawn |= self._state() != before

        return call

    def _state(self) -> list[object]:
        numpy = sys.modules.get("numpy")
        state: list[object] = [random.getstate(), torch.get_rng_state().numpy().tobytes()]
        if numpy is not None:
            kind, keys, *rest = numpy.random.get_state()
            state += [kind, keys.tobytes(), rest]
        if torch.cuda.is_initialized():
            state += [each.numpy().tobytes() for each in torch.cuda.get_rng_state_all()]
        known: set[int] = set()
        for place in self._places:
            state += _held(place, known, _DEEPEST)
        return state


def _generators_beside(place: Any, known: set[int]) -> list[Any]:
    """Find them among the globals of its module, once."""
    name = getattr(place, "__module__", None) or type(place).__module__
    module = sys.modules.get(name) if isinstance(name, str) else None
    if module is None or id(module) in known:
        return []
    known.add(id(module))
    return [each for each in vars(module).values() if _is_generator(each)]


def _is_generator(value: object) -> bool:
    is_numpy = type(value).__module__.startswith("numpy.random")
    return isinstance(value, (torch.Generator, random.Random)) or is_numpy


def _held(value: Any, known: set[int], depth: int) -> Iterator[object]:
    """Yield numbers, and states of generators."""
    if type(value) in (int, float, bool):
        yield value
    elif id(value) not in known and depth >= 0 and not isinstance(value, ModuleType):
        known.add(id(value))
        if isinstance(value, torch.Generator):
            yield value.get_state().numpy().tobytes()
        elif _is_generator(value):
            yield pickle.dumps(value)
        elif isinstance(value, Iterator):  # Its place cannot be read.
            yield object()
        else:
            for each in (*_parts(value), *_generators_beside(value, known)):
                yield from _held(each, known, depth - 1)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.values()][:_LONGEST]
    if isinstance(value, (list, tuple)):
        return [] if len(value) > _LONGEST else [*value]
    found = [*vars(value).values()] if hasattr(value, "__dict__") else []
    if isinstance(value, partial):
        found += [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, MethodType):
        found += [value.__self__, value.__func__]
    if isinstance(value, FunctionType) and value.__closure__ is not None:
        for cell in value.__closure__:
            with suppress(ValueError):  # Of a variable that has no value yet.
                found.append(cell.cell_contents)
    return found
