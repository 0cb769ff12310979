"""torch.distributed and DDP under the hooks: nothing is sent during a replay.

All ranks replay the same steps, so none waits for another. Objects that a rank got from others
decide what its script does, so they are in its journal.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from ..session import Session

_TENSORS = (
    "all_reduce",
    "all_gather",
    "all_gather_into_tensor",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "gather",
    "irecv",
    "isend",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "send",
)
_OBJECTS = {
    "all_gather_object": 0,
    "broadcast_object_list": 0,
    "gather_object": 1,
    "scatter_object_list": 0,
}
"""With the position of the list that the function fills."""


def hook_distributed(session: Session) -> None:
    import torch.distributed as dist

    if not dist.is_available():
        return
    _hook_start(session)
    for name in _TENSORS:
        _replace(name, _silent(session, getattr(dist, name)))
    for name, position in _OBJECTS.items():
        _replace(name, _recorded(session, name, getattr(dist, name), position))
    _hook_ddp(session)


def _replace(name: str, function: Callable[..., Any]) -> None:
    for module in (torch.distributed, torch.distributed.distributed_c10d):
        setattr(module, name, function)


def _hook_start(session: Session) -> None:
    original = torch.distributed.init_process_group

    @functools.wraps(original)
    def start(*args: Any, **kwargs: Any) -> None:
        original(*args, **kwargs)
        store = torch.distributed.distributed_c10d._get_default_store()
        session.join(torch.distributed.distributed_c10d.PrefixStore("tidewheel-automatic", store))

    _replace("init_process_group", start)
    end = torch.distributed.destroy_process_group

    @functools.wraps(end)
    def finish(*args: Any, **kwargs: Any) -> None:
        session.leave()
        end(*args, **kwargs)

    _replace("destroy_process_group", finish)


class _Done:
    """In place of the handle of an asynchronous call."""

    def wait(self, *_args: object, **_kwargs: object) -> bool:
        return True

    is_completed = is_success = wait


def _silent(session: Session, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if session.is_replaying:
            is_handle = kwargs.get("async_op") or original.__name__ in ("isend", "irecv")
            return _Done() if is_handle else None
        with session.nesting.inside():
            return original(*args, **kwargs)

    return call


def _recorded(
    session: Session, name: str, original: Callable[..., Any], position: int
) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        filled = args[position] if len(args) > position else _filled(kwargs)
        if session.is_active and session.is_replaying:
            got = session.journal.replay(name)
            if filled is not None and got is not None:
                filled[:] = got
            return None
        with session.nesting.inside():
            result = original(*args, **kwargs)
        if session.is_active:
            session.journal.record(name, None if filled is None else list(filled))
        return result

    return call


def _filled(kwargs: dict[str, Any]) -> Any:
    names = ("object_list", "object_gather_list", "scatter_object_output_list")
    return next((kwargs[name] for name in names if name in kwargs), None)


def _hook_ddp(session: Session) -> None:
    from torch.nn.parallel import DistributedDataParallel

    init, forward = DistributedDataParallel.__init__, DistributedDataParallel.forward

    @functools.wraps(init)
    def start(self: Any, *args: Any, **kwargs: Any) -> None:
        with session.nesting.inside():
            init(self, *args, **kwargs)
        session.replicas.append(self)

    @functools.wraps(forward)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        if session.is_replaying:
            return self.module(*args, **kwargs)
        return forward(self, *args, **kwargs)

    DistributedDataParallel.__init__ = start  # type: ignore[method-assign]
    DistributedDataParallel.forward = run  # type: ignore[method-assign]


def is_launcher() -> bool:
    """Torchrun imports torch, too, and trains nothing."""
    import sys

    names = ("torch.distributed.run", "torch.distributed.launch")
    return "RANK" not in os.environ and any(name in sys.orig_argv[:8] for name in names)
