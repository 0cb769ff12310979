"""Processes that the script starts, within its loop or to train in.

What they give back comes by ways that no hook sees, and a replay would start them among fake
tensors: with weights, files and random numbers of another step. A script whose other processes work
with tensors is not saved from there on. Those of a loader are PyTorch's; the loader replays for
them.

A checkpoint contains the training of one process: the first of a script's start that begins one. A
script may train in processes of its own, at once on shared weights or one after the other. They
would write to one folder, and each could resume from what another has saved.
"""

from __future__ import annotations

import functools
import mmap
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from types import FrameType
from typing import Any

from torch.multiprocessing import reductions

from .journal import Journal, RefusedError
from .options import Options
from .recording import Recording

SECOND_PROCESS = (
    "a second process of the script trains, and a checkpoint holds one: "
    "start its processes by the strategy ddp, or let it save by itself"
)
_TRAINS, _READS, _SENDS, _STARTS = 1, 2, 3, 4
_REASONS = {
    _TRAINS: SECOND_PROCESS,
    _READS: "a process that it forks in its loop reads tensors, which a replay cannot repeat",
    _SENDS: "it sends tensors to another process in its loop, which a replay cannot repeat",
    _STARTS: "it starts Python in its loop, and a replay cannot know what that process found",
}
_PATHS = (str, bytes, os.PathLike)


class OtherProcesses:
    def __init__(self, session: Recording) -> None:
        self._session = session
        self._seen = mmap.mmap(-1, 1)
        """One byte that forked processes share: a key of `_REASONS`, or 0."""
        self._is_loaders = False
        self.is_forked = False
        """Whether this process was forked in the loop, by the script."""

    def hook(self) -> None:
        os.register_at_fork(after_in_child=self._forked)
        for kind, reduce in list(ForkingPickler._extra_reducers.items()):  # type: ignore[attr-defined]
            if reduce is reductions.reduce_tensor:
                ForkingPickler.register(kind, self._sending(reduce))
        subprocess.Popen.__init__ = self._starting(subprocess.Popen.__init__)  # type: ignore[method-assign]

    def reason(self) -> str | None:
        """Why the script cannot be saved any more; None where it can."""
        return _REASONS.get(self._seen[0])

    @property
    def has_trained(self) -> bool:
        return self._seen[0] == _TRAINS

    def trains(self) -> None:
        """This forked process has made a step. Raises RefusedError in a replay."""
        self._note(_TRAINS)

    def _note(self, what: int) -> None:
        if not self.has_trained:
            self._seen[0] = what
        if self._session.is_replaying:
            raise RefusedError(_REASONS[what])

    def _forked(self) -> None:
        session = self._session
        if not session.has_begun or self._is_loaders:
            return
        if session.nesting.is_nested:
            self._is_loaders = True
            return
        self.is_forked = True
        session.journal = _NoJournal(lambda: self._note(_READS))

    def _sending(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def reduce(tensor: Any) -> Any:
            if self._session.is_recording and not self._is_loaders and not self._is_index(tensor):
                self._note(_SENDS)
            return original(tensor)

        return reduce

    def _is_index(self, tensor: Any) -> bool:
        """Of a sampler: the queue to the workers of a loader has a thread of its own."""
        nesting = self._session.nesting
        is_number = tensor.dim() == 0 and not tensor.is_floating_point()
        return nesting.is_pytorch or (is_number and not self.is_forked and not nesting.is_script)

    def _starting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def start(popen: Any, args: Any, *rest: Any, **options: Any) -> Any:
            if self._session.is_active and _is_python(args) and not _compiles():
                self._note(_STARTS)
            return original(popen, args, *rest, **options)

        return start


class _NoJournal(Journal):
    """Of a forked process: what it reads, its parent never learns."""

    def __init__(self, note: Callable[[], None]) -> None:
        super().__init__()
        self._note = note

    def record(self, kind: str, value: Any) -> None:
        self._note()

    def replay(self, kind: str) -> Any:
        self._note()


def _is_python(args: Any) -> bool:
    """Of the arguments of a process: a program's name, a list of words or a line of the shell."""
    if isinstance(args, (list, tuple)):
        first = args[0] if args else ""
    else:
        first = args.split()[0] if isinstance(args, str) and args.strip() else args
    name = os.path.basename(os.fsdecode(first)) if isinstance(first, _PATHS) else ""
    return name.startswith(("python", "torchrun", "accelerate"))


def _compiles() -> bool:
    """Whether PyTorch's compiler starts the process."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("torch._inductor"):
            return True
        frame = frame.f_back
    return False


def is_taken(options: Options) -> bool:
    """Whether another process of this start has begun to train."""
    claim = _claim_of(options)
    return claim is not None and claim.exists()


def claim_training(options: Options) -> bool:
    """False if another process of this start was the first."""
    claim = _claim_of(options)
    if claim is None:
        return True
    try:
        os.close(os.open(claim, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return False
    except OSError:
        return True
    return True


def _claim_of(options: Options) -> Path | None:
    """The agent gives each start of the script a token. None for several ranks: they are meant to
    train at once, and each saves a file of its own."""
    token = os.environ.get("TIDEWHEEL_SCRIPT_TOKEN")
    if not token or options.ranks > 1:
        return None
    kind = "trial" if options.scratch else "training"
    return Path(tempfile.gettempdir()) / f"tidewheel-{kind}-{token}"
