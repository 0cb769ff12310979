"""Counts a script's optimizer steps and hashes the weights it ends with, without a change to it.

Python imports this at its start, from PYTHONPATH. OBSERVED_DIR gets `steps`, a little-endian int64
that outlives a SIGKILL, and at the end `weights`: SHA-256 over all parameters of the last optimizer
and of those that the script still holds, in the order of their creation. A step that a replay only
pretends does not count. OBSERVED_SEED seeds the random numbers once PyTorch is imported, so that
runs of a script that seeds nothing compare.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import hashlib
import importlib.abc
import importlib.machinery
import itertools
import mmap
import os
import random
import struct
import sys
import weakref
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

_MODULE = "torch.optim.optimizer"


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        _observe(module)
        _seed(int(os.environ["OBSERVED_SEED"]))


def _seed(seed: int) -> None:
    import torch

    random.seed(seed)
    torch.default_generator.manual_seed(seed)
    with contextlib.suppress(ImportError):
        import numpy

        numpy.random.seed(seed)
        _seed_new_generators(numpy.random, seed)


def _seed_new_generators(random_module: Any, seed: int) -> None:
    """Without an argument NumPy seeds a generator from the operating system."""
    make, numbers, first = random_module.default_rng, itertools.count(), seed

    # Scripts name the argument as NumPy does.
    def default_rng(seed: Any = None) -> Any:
        return make((first, next(numbers)) if seed is None else seed)

    random_module.default_rng = default_rng


def _observe(module: Any) -> None:
    folder, process = Path(os.environ["OBSERVED_DIR"]), os.getpid()
    optimizers: list[weakref.ref[Any]] = []
    last: Any = None
    create = module.Optimizer.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        create(self, *args, **kwargs)
        optimizers.append(weakref.ref(self))

    module.Optimizer.__init__ = init
    steps = 0
    counter: mmap.mmap | None = None

    def after_step(optimizer: Any, *_: object) -> None:
        nonlocal steps, counter, last
        if os.getpid() != process:
            return
        last = optimizer
        if counter is None:
            with open(folder / "steps", "w+b") as file:
                file.write(bytes(8))
                file.flush()
                counter = mmap.mmap(file.fileno(), 8)
        steps += 1
        struct.pack_into("<q", counter, 0, steps)

    def at_end() -> None:
        gc.collect()
        left = [optimizer for ref in optimizers if (optimizer := ref()) is not None]
        if left and os.getpid() == process:
            (folder / "weights").write_text(_digest(left))

    module.register_optimizer_step_post_hook(after_step)
    atexit.register(at_end)


def _digest(optimizers: list[Any]) -> str:
    digest = hashlib.sha256()
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                whole = parameter.detach().cpu().contiguous()
                digest.update(f"{whole.dtype} {tuple(whole.shape)}".encode())
                size = whole.numel() * whole.element_size()
                digest.update(ctypes.string_at(whole.data_ptr(), size) if size else b"")
    return digest.hexdigest()


if os.environ.get("OBSERVED_DIR"):
    sys.meta_path.insert(0, _Finder())
