"""Puts the session between the script and PyTorch, right after the script has imported torch."""

from __future__ import annotations

import atexit
import copy
import functools
import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from types import TracebackType
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils.data import DataLoader

from .fake_tensors import convert, is_fake
from .loaders import LoaderIterator
from .options import read_options
from .ranks.distributed import hook_distributed, is_launcher
from .sandbox import note_written_files
from .seeds import hook_seeds
from .session import Session
from .torchscript import replace


def start() -> None:
    options = read_options()
    if is_launcher():
        return
    if options.trial is not None:
        note_written_files()
    install(Session(options))


_READS = ("item", "tolist", "numpy", "equal", "allclose", "is_nonzero")
_TEXT = ("__repr__", "__format__")
"""`print(loss)` reads the values, too, and the text depends on them alone."""
_CONVERSIONS = ("__float__", "__int__", "__bool__", "__index__", "__complex__", "__array__")
_LIST_ENTRY_BYTES = 8
_LAYERS = ("lstm", "gru", "rnn_tanh", "rnn_relu")
_NAMES = ("has_biases", "num_layers", "dropout", "train")
DROPOUT_REASON = "cuDNN keeps the random numbers of the dropout between recurrent layers to itself"


def install(session: Session) -> None:
    for name in (*_READS, *_TEXT, *_CONVERSIONS):
        setattr(torch.Tensor, name, _read(session, name, getattr(torch.Tensor, name)))
        if name in vars(FakeTensor):  # Its own `tolist` calls `item` for each element.
            setattr(FakeTensor, name, _read(session, name, getattr(FakeTensor, name)))
    for name in ("equal", "allclose", "is_nonzero"):
        replace(torch, name, _read(session, name, getattr(torch, name)))
    session.shapes.hook()
    session.numbers.hook()
    session.packed.hook()
    session.processes.hook()
    hook_seeds(session.seeds)
    _hook_backward(session)
    _note_backward_hooks(session)
    _hook_conversions(session)
    _hook_copies(session)
    _hook_optimizers(session)
    _hook_loaders(session)
    _hook_files(session)
    _hook_graphs(session)
    hook_recurrent_layers(session.cannot_save)
    hook_distributed(session)
    atexit.register(session.finish)
    sys.excepthook = _shown(session, sys.excepthook)


def _read(session: Session, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """A function that turns tensors into Python values: recorded, and replayed."""

    @functools.wraps(original)
    def read(*args: Any, **kwargs: Any) -> Any:
        if not session.is_active:
            return original(*args, **kwargs)
        if session.is_replaying:
            return session.journal.replay(name)
        with session.nesting.inside():
            value = original(*args, **kwargs)
        if session.may_read(_size_of(value, args)):
            # A copy, because the script may write into an array or a list.
            session.journal.record(name, copy.deepcopy(value))
        return value

    return read


def _size_of(value: object, args: tuple[Any, ...]) -> int:
    if isinstance(value, list):  # Of `tolist`, whose first argument is the tensor.
        return _LIST_ENTRY_BYTES * int(args[0].numel())
    return len(value) if isinstance(value, str) else int(getattr(value, "nbytes", 0))


def _hook_backward(session: Session) -> None:
    owners: tuple[Any, ...] = (torch.Tensor, torch.autograd)
    for owner in owners:
        original = owner.backward

        @functools.wraps(original)
        def backward(*args: Any, _original: Any = original, **kwargs: Any) -> Any:
            if session.nesting.is_nested or session.nesting.is_in_backward:
                return _original(*args, **kwargs)
            session.begin()
            with session.nesting.backward_pass():
                if not session.is_replaying:
                    # A replay calls the script's hooks again, so what they read is in the journal.
                    is_script = session.gradients.need_backward
                    with nullcontext() if is_script else session.nesting.inside():
                        _original(*args, **kwargs)
                else:
                    if session.gradients.need_backward:
                        _original(*args, **kwargs)
                    session.gradients.fill()
            return session.after_backward()

        owner.backward = backward


def _note_backward_hooks(session: Session) -> None:
    """Per-sample gradients and the like come from hooks, which a replay has to call, too."""
    module, tensor = torch.nn.Module, torch.Tensor
    for owner, name in (
        (module, "register_full_backward_hook"),
        (module, "register_backward_hook"),
        (tensor, "register_hook"),
        (tensor, "register_post_accumulate_grad_hook"),
    ):
        original = getattr(owner, name)

        @functools.wraps(original)
        def register(*args: Any, _original: Any = original, **kwargs: Any) -> Any:
            session.gradients.has_backward_hooks = True
            return _original(*args, **kwargs)

        setattr(owner, name, register)


def _hook_copies(session: Session) -> None:
    """PyTorch copies the storage of a tensor, and a fake tensor cannot take a real one."""
    original = torch.Tensor.__deepcopy__

    @functools.wraps(original)
    def deepcopy(self: torch.Tensor, memo: dict[int, Any]) -> Any:
        if not (session.is_replaying and self.is_leaf) or id(self) in memo:
            return original(self, memo)
        copied = self.detach().clone().requires_grad_(self.requires_grad)
        memo[id(self)] = copied
        if self.grad is not None:
            copied.grad = copy.deepcopy(self.grad, memo)
        return copied

    torch.Tensor.__deepcopy__ = deepcopy  # type: ignore[method-assign]


def _hook_conversions(session: Session) -> None:
    """PyTorch swaps a fake tensor for its converted one, and fails, since the first is known."""
    original = torch.nn.Module._apply

    @functools.wraps(original)
    def convert_module(self: torch.nn.Module, change: Any, *args: Any, **kwargs: Any) -> Any:
        own = self._parameters
        fakes = {n: p for n, p in own.items() if session.is_replaying and is_fake(p)}
        for name, fake in fakes.items():
            convert(fake, change)
            own[name] = None  # It keeps its place among the others.
        try:
            return original(self, change, *args, **kwargs)
        finally:
            own.update(fakes)

    torch.nn.Module._apply = convert_module  # type: ignore[assignment, method-assign]


def _hook_optimizers(session: Session) -> None:
    original = torch.optim.Optimizer.__init__

    @functools.wraps(original)
    def init(self: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        session.gradients.add_optimizer(self)
        owner: Any = next(kind for kind in type(self).__mro__ if "step" in vars(kind))
        if not hasattr(owner.step, "_tidewheel"):
            owner.step = _step(session, owner.step)

    torch.optim.Optimizer.__init__ = init  # type: ignore[method-assign]


def _step(session: Session, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        if session.nesting.is_nested:
            return original(self, *args, **kwargs)
        session.begin()
        closure = kwargs.get("closure", args[0] if args else None)
        if session.is_replaying:
            result = _closure_again(session, closure)
        elif closure is None:
            with session.nesting.inside():
                result = original(self, *args, **kwargs)
        else:
            result = _with_closure(session, original, self, closure)
        session.after_step(self)
        return result

    step._tidewheel = True  # type: ignore[attr-defined]
    return step


def _with_closure(session: Session, original: Any, optimizer: Any, closure: Any) -> Any:
    """LBFGS calls the closure many times; each call may count or print something."""

    def counted() -> Any:
        session.journal.record("closure", True)
        with session.nesting.outside():
            return closure()

    with session.nesting.inside():
        result = original(optimizer, counted)
    session.journal.record("closure", False)
    return result


def _closure_again(session: Session, closure: Any) -> Any:
    result = None
    while closure is not None and session.journal.replay("closure"):
        result = closure()
    return result


def _hook_loaders(session: Session) -> None:
    original = DataLoader.__iter__

    @functools.wraps(original)
    def iterate(self: DataLoader[Any]) -> Any:
        with session.nesting.inside():
            return LoaderIterator(self, original, session)

    DataLoader.__iter__ = iterate  # type: ignore[method-assign]


def _hook_files(session: Session) -> None:
    original = torch.save

    @functools.wraps(original)
    def save(obj: object, f: Any, *args: Any, **kwargs: Any) -> None:
        if session.is_replaying:
            if isinstance(f, (str, os.PathLike)):
                session.aside.saves_nothing(f)
            return
        if isinstance(f, (str, os.PathLike)):
            # PyTorch's own writer tells Python of no open file.
            session.may_write(os.path.abspath(f))
        with session.nesting.inside():
            original(obj, f, *args, **kwargs)
        path: Any = f
        if not isinstance(f, os.PathLike):  # An open file and a member of an archive have one, too.
            archive = getattr(f, "_zipfile", f)
            path = getattr(archive, "filename", None) or getattr(archive, "name", archive)
        if isinstance(path, (str, os.PathLike)) and session.is_active:
            session.files.wrote(path, by_name=path is f)

    torch.save = save


def _hook_graphs(session: Session) -> None:
    """A CUDA graph that is captured in the loop holds work that no hook sees when it is replayed,
    and a replay by the hooks could not capture it again."""
    original = torch.cuda.CUDAGraph.capture_begin

    @functools.wraps(original)
    def begin(self: Any, *args: Any, **kwargs: Any) -> None:
        session.captures_graph()
        original(self, *args, **kwargs)

    torch.cuda.CUDAGraph.capture_begin = begin  # type: ignore[method-assign]


def _shown(session: Session, original: Callable[..., Any]) -> Callable[..., Any]:
    def excepthook(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        session.stop_replay(error)
        original(kind, error, trace)

    return excepthook


def hook_recurrent_layers(cannot_save: Callable[[str], None]) -> None:
    """Those of a GPU whose dropout no checkpoint can hold.

    cuDNN draws the dropout between the layers from a buffer of its own. PyTorch fills it at its
    first use in a process, and neither Python nor a generator's state reaches it. `cannot_save`
    gets the reason at each use of such layers.
    """
    places: tuple[Any, ...] = (torch, torch._VF)
    for name in _LAYERS:
        hooked = _refusing_dropout(getattr(torch, name), cannot_save)
        for place in places:
            replace(place, name, hooked)


def _refusing_dropout(
    original: Callable[..., Any], cannot_save: Callable[[str], None]
) -> Callable[..., Any]:
    @functools.wraps(original)
    def layers(*args: Any, **kwargs: Any) -> Any:
        if _draws_in_cudnn(args, kwargs):
            cannot_save(DROPOUT_REASON)
        return original(*args, **kwargs)

    return layers


def _draws_in_cudnn(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Padded and packed sequences have other arguments before the first flag."""
    first_flag = next((i for i, value in enumerate(args) if isinstance(value, bool)), len(args))
    options = dict(zip(_NAMES, args[first_flag:], strict=False)) | kwargs
    draws = options.get("train") and options.get("dropout", 0) > 0
    if not draws or options.get("num_layers", 1) < 2:
        return False
    inputs = args[0] if args else kwargs.get("input", kwargs.get("data"))
    return bool(torch.backends.cudnn.enabled and getattr(inputs, "is_cuda", False))
