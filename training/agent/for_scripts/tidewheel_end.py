"""Notes how the program's own code ended, before the interpreter ends.

Threads of PyTorch may abort the process in the interpreter's end. The agent then has to know
whether the work was done (supervision/aborted_end.py). Python tells an exit handler of an error,
but not of `raise SystemExit(1)`. So the end counts as good only where something shows it: the main
module's code has returned, or the program has called `sys.exit` with 0.
"""

from __future__ import annotations

import atexit
import functools
import os
import sys
import threading
import time
from types import FrameType
from typing import Any, NoReturn

_PEERS_SECONDS = 60.0
_LAST_INSTRUCTIONS = ("RETURN_VALUE", "RETURN_CONST")
GOOD = "good"
"""The content of the file; it is empty after any other end."""


def note_end(folder: str) -> None:
    """At its end this process leaves a file there, which has its name.

    A rank of torchrun is named by its launcher, and waits for the others: torchrun would kill them
    for the abort of this one.
    """
    process, rank = os.getpid(), os.environ.get("LOCAL_RANK")
    name = str(process) if rank is None else f"{os.getppid()}-{rank}"
    ranks = 1 if rank is None else int(os.environ.get("LOCAL_WORLD_SIZE") or 1)
    end = _End()

    def ended() -> None:
        if os.getpid() != process:  # A forked process is not the program.
            return
        try:
            with open(os.path.join(folder, name), "w") as file:
                file.write(GOOD if end.is_good() else "")
            _wait_for_peers(folder, f"{name.partition('-')[0]}-", ranks)
        except OSError:
            pass

    # What is registered first runs last.
    atexit.register(ended)


def _wait_for_peers(folder: str, names: str, ranks: int) -> None:
    deadline = time.monotonic() + _PEERS_SECONDS
    while ranks > 1 and time.monotonic() < deadline:
        if sum(each.startswith(names) for each in os.listdir(folder)) >= ranks:
            return
        time.sleep(0.05)


class _End:
    """Watches for the signs of a good end."""

    def __init__(self) -> None:
        self._main: FrameType | None = None
        self._has_exited_well = False
        sys.meta_path.insert(0, self)
        exit_ = sys.exit

        @functools.wraps(exit_)
        def note_code(*code: Any) -> NoReturn:  # noqa: ANN401 (as of sys.exit)
            if threading.current_thread() is threading.main_thread():
                self._has_exited_well = code in ((), (None,), (0,))
            exit_(*code)

        sys.exit = note_code

    def find_spec(self, *_arguments: object) -> None:
        """At an import: the main module's frame, which can be read once its code has ended."""
        main = sys.modules.get("__main__")
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_name == "<module>" and frame.f_globals is vars(main):
                self._main = frame
                sys.meta_path.remove(self)
                return
            frame = frame.f_back

    def is_good(self) -> bool:
        if hasattr(sys, "last_value"):  # Of an error that has been shown.
            return False
        return self._has_exited_well or self._has_returned()

    def _has_returned(self) -> bool:
        from opcode import opname

        main = self._main
        return main is not None and opname[main.f_code.co_code[main.f_lasti]] in _LAST_INSTRUCTIONS
