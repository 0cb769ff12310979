"""In what arithmetic the steps multiply: float32, TF32, or 16 bits.

Whatever asks for it (the dtype of parameters, autocast, FSDP's or DeepSpeed's own casts, adapters
beside a frozen model in 16 bits), the dtype of a module's output shows it. A forward hook on all
modules looks at one whole step in a minute; the steps between have none. Hooks inside a module of
`torch.compile` would be compiled too, so its weights and the autocast around its call tell it.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import torch
from torch import nn
from torch.nn.modules.conv import _ConvNd
from torch.nn.modules.module import register_module_forward_hook

from .cells import BITS16_WORK, FLOAT32_WORK, STEPS, TF32_WORK
from .meter import Meter
from .places import Places, calling_line

KINDS = (FLOAT32_WORK, TF32_WORK, BITS16_WORK)


class ObservedStep:
    """Counts the operations of the first step that begins after it."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._values = meter.values
        self._process = os.getpid()
        self._from = self._values[STEPS]
        self._sums = dict.fromkeys(KINDS, 0.0)
        self._line: str | None = None
        self._hook = register_module_forward_hook(self._after_forward)

    def _after_forward(self, module: nn.Module, inputs: Any, output: Any) -> None:
        try:
            steps = self._values[STEPS] - self._from
            if not self._meter.is_on or os.getpid() != self._process:
                self._hook.remove()  # A loader worker, forked meanwhile.
            elif steps >= 2:
                self._hook.remove()
                write_observed(self._meter, self._sums, self._line)
            elif steps == 1:
                self._count(module, inputs, output)
        except Exception:  # What cannot be counted stays unknown.
            self._hook.remove()

    def _count(self, module: nn.Module, inputs: Any, output: Any) -> None:
        if isinstance(output, tuple) and output:
            output = output[0]
        if not isinstance(output, torch.Tensor) or not output.is_floating_point():
            return
        kind = kind_of(module, output.dtype, is_cuda=output.is_cuda)
        if kind is None:
            return
        operations = sum(
            2.0 * weight.numel() * positions * _passes(weight, output)
            for weight in module.parameters(recurse=False)
            if (positions := _positions(module, weight, inputs, output))
        )
        self._sums[kind] += operations
        if self._line is None and operations:
            self._line = calling_line(sys._getframe(2), Places()) or ""


def write_observed(meter: Meter, sums: Mapping[int, float], line: str | None) -> None:
    """`line`: of the script, which calls the forward pass. Without any, what others noted stays."""
    if not any(sums.values()):
        return
    for kind, operations in sums.items():
        meter.values[kind] = operations
    meter.call_sites.note("forward", line or None)


def kind_of(module: nn.Module, dtype: torch.dtype, *, is_cuda: bool) -> int | None:
    """`dtype`: of its results."""
    if dtype in (torch.bfloat16, torch.float16):
        return BITS16_WORK
    if dtype != torch.float32:
        return None
    is_tf32 = is_cuda and allows_tf32("conv" if isinstance(module, _ConvNd) else "matmul")
    return TF32_WORK if is_tf32 else FLOAT32_WORK


def allows_tf32(operation: str) -> bool:
    older: Any = torch.backends.cudnn if operation == "conv" else torch.backends.cuda.matmul
    newer = getattr(older, "conv", None) if operation == "conv" else older
    asked = getattr(newer, "fp32_precision", "none")
    if asked != "none":
        return bool(asked == "tf32")
    try:
        return bool(older.allow_tf32)
    except RuntimeError:  # Of a script that has set the newer switches.
        return False


def _positions(module: nn.Module, weight: torch.Tensor, inputs: Any, output: torch.Tensor) -> float:
    """How often the weight is multiplied with a vector; 0: it multiplies nothing, or who knows.

    Too few at most: what a look misses only widens a forecast.
    """
    if isinstance(module, _ConvNd) and weight.ndim > 2:
        given = float(inputs[0].numel()) / module.in_channels
        return min(given, output.numel() / module.out_channels)
    if weight.ndim != 2 or isinstance(module, (nn.Embedding, nn.EmbeddingBag)):
        return 0.0
    return output.numel() / output.shape[-1]


def _passes(weight: torch.Tensor, output: torch.Tensor) -> int:
    """Forward, and backward for the input and for the weight."""
    node = getattr(torch._C, "_current_autograd_node", None)
    if not output.requires_grad or (node is not None and node() is not None):
        return 1  # The second forward of a module whose activations were thrown away.
    return 3 if weight.requires_grad else 2


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


def install_compiled(module: ModuleType, meter: Meter) -> None:
    """`module`: torch._dynamo.eval_frame. Dynamo compiles what lies below an OptimizedModule."""
    original = module.OptimizedModule.__call__

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if meter.real_arguments is not None:
            args, kwargs = meter.real_arguments((args, kwargs))
        observe = meter.compiled_call
        if observe is not None:
            try:
                observe(self._orig_mod, (*args, *kwargs.values()))
            except Exception:  # What cannot be counted stays unknown.
                meter.compiled_call = None
        return original(self, *args, **kwargs)

    meter.replace(module.OptimizedModule, "__call__", call)
    context = module.OptimizeContext
    compile_one = context.__call__

    @functools.wraps(compile_one)
    def compiles(self: Any, fn: Any) -> Any:
        is_module = getattr(fn, "__func__", fn) is nn.Module.__call__ or isinstance(fn, nn.Module)
        if meter.compiles is not None and not is_module:
            meter.compiles()
        return compile_one(self, fn)

    meter.replace(context, "__call__", compiles)


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
