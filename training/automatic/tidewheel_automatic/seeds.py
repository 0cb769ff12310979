"""Seeds that a script takes from a clock or the operating system.

A resumed script gets the seeds of its first attempt, or it would draw other data in another order.
A seed is known by the line that takes it, and by how often this line has taken one.
"""

from __future__ import annotations

import functools
import os
import random
import secrets
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch

from .torchscript import replace

_KINDS = (int, float, str, bytes)
_BETWEEN = (__file__, random.__file__)
Place = tuple[str, int, int]
"""File, line, and the number of earlier calls there."""


class Seeds:
    def __init__(self, is_script: Callable[[], bool]) -> None:
        """`is_script`: whether the script is at work, and not PyTorch or a loader."""
        self._is_script = is_script
        self._taken: dict[Place, Any] = {}
        self._calls = Counter[tuple[str, int]]()
        self._owner = os.getpid(), threading.get_ident()

    def take(self, seed: Any) -> Any:
        """The seed, or that of the first attempt in its place."""
        # Loader workers and other threads seed themselves in an order of their own.
        if self._owner != (os.getpid(), threading.get_ident()) or not self._is_script():
            return seed
        if not isinstance(seed, _KINDS):
            return seed
        line = _line()
        place = (*line, self._calls[line])
        self._calls[line] += 1
        return self._taken.setdefault(place, seed)

    def taken(self) -> dict[Place, Any]:
        return dict(self._taken)

    def replay(self, taken: dict[Place, Any]) -> None:
        self._taken = dict(taken)


def _line() -> tuple[str, int]:
    frame = sys._getframe(1)
    while frame.f_code.co_filename in _BETWEEN and frame.f_back is not None:
        frame = frame.f_back
    # A later host may run the script in a folder of another name.
    return os.path.basename(frame.f_code.co_filename), frame.f_lineno


def hook_seeds(seeds: Seeds) -> None:
    """Seeding without a number takes one from the operating system."""
    _hook(seeds, random.Random, "seed", lambda: secrets.randbits(128))
    _hook(seeds, random, "seed", lambda: secrets.randbits(128))
    _hook(seeds, torch, "manual_seed", lambda: None)
    with suppress(AttributeError):  # NumPy is not there, or is another one than today's.
        numpy: Any = sys.modules.get("numpy")
        _hook(seeds, numpy.random, "seed", lambda: secrets.randbits(32))
        _hook(seeds, numpy.random, "default_rng", lambda: None)
        # What makes a generator without a seed begins with these.
        bits, draw = numpy.random.bit_generator, numpy.random.bit_generator.randbits
        bits.randbits = lambda count: seeds.take(draw(count))


def _hook(seeds: Seeds, owner: Any, name: str, fresh: Callable[[], int | None]) -> None:
    """`owner`: a class or a module; the seed is the first argument."""
    original = getattr(owner, name)
    own = 1 if isinstance(owner, type) else 0

    @functools.wraps(original)
    def seeded(*args: Any, **kwargs: Any) -> Any:
        before, given = args[:own], args[own:]
        if given:
            return original(*before, seeds.take(_or(given[0], fresh)), *given[1:], **kwargs)
        named = {key: seeds.take(value) for key, value in kwargs.items()}
        return original(*before, *([] if named else [seeds.take(fresh())]), **named)

    replace(owner, name, seeded)


def _or(seed: Any, fresh: Callable[[], int | None]) -> Any:
    return fresh() if seed is None else seed
