"""In what arithmetic a module of `torch.compile` multiplies. Hooks inside would be compiled too, so
its weights and the autocast around its call tell it."""

from __future__ import annotations

import functools
import os
import sys
from types import ModuleType
from typing import Any

import torch
from torch import nn

from .arithmetic import KINDS, ObservedStep, kind_of, write_observed
from .cells import STEPS
from .meter import Meter
from .places import Places, calling_line


def observe_step(meter: Meter) -> None:
    """Where torch.compile has compiled anything, Dynamo would compile with the hook of a step."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    if dynamo is None or not dynamo.counters["frames"]:
        ObservedStep(meter)
    else:
        meter.compiled_call = ObservedCalls(meter).called


class ObservedCalls:
    """Counts the operations of the first step that begins after it."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._from = meter.values[STEPS]
        self._process = os.getpid()
        self._sums = dict.fromkeys(KINDS, 0.0)
        self._line: str | None = None

    def called(self, module: nn.Module, arguments: tuple[Any, ...]) -> None:
        """Before the call. Raises where the module is not as expected."""
        meter = self._meter
        steps = meter.values[STEPS] - self._from
        if os.getpid() != self._process or steps >= 2:
            meter.compiled_call = None
        if steps >= 2:
            write_observed(meter, self._sums, self._line)
        if steps != 1:
            return
        if not _shows_its_arithmetic(module):
            meter.compiled_call = None
            return
        positions = _samples(arguments)
        for each in module.modules():
            for weight in each.parameters(recurse=False):
                _add(self._sums, each, weight, positions)
        if self._line is None:
            self._line = calling_line(sys._getframe(2), Places()) or ""


def install(module: ModuleType, meter: Meter) -> None:
    """`module`: torch._dynamo.eval_frame. Dynamo compiles what lies below an OptimizedModule."""
    original = module.OptimizedModule.__call__

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        observe = meter.compiled_call
        if observe is not None:
            try:
                observe(self._orig_mod, (*args, *kwargs.values()))
            except Exception:  # What cannot be counted stays unknown.
                meter.compiled_call = None
        return original(self, *args, **kwargs)

    meter.replace(module.OptimizedModule, "__call__", call)


def _shows_its_arithmetic(module: nn.Module) -> bool:
    """Not where a forward of its own, or one that a library put there, may begin autocast."""
    for each in module.modules():
        forward = type(each).forward
        code = getattr(forward, "__code__", None)
        names = () if code is None else code.co_names
        if "forward" in vars(each) or hasattr(forward, "__wrapped__") or "autocast" in names:
            return False
    return True


def _add(sums: dict[int, float], module: nn.Module, weight: torch.Tensor, positions: int) -> None:
    if weight.ndim < 2 or isinstance(module, (nn.Embedding, nn.EmbeddingBag)):
        return
    device = weight.device.type
    is_cast = torch.is_autocast_enabled(device)
    dtype = torch.get_autocast_dtype(device) if is_cast else weight.dtype
    kind = kind_of(module, dtype, is_cuda=weight.is_cuda)
    if kind is not None:
        passes = 1 if not torch.is_grad_enabled() else 3 if weight.requires_grad else 2
        sums[kind] += 2.0 * weight.numel() * positions * passes


def _samples(arguments: tuple[Any, ...]) -> int:
    """Each weight meets each of them once or more: too few only widen a forecast."""
    for each in arguments:
        if isinstance(each, torch.Tensor) and each.ndim > 0:
            return int(each.shape[0])
    return 1
