"""Whether the script is at work or PyTorch, whose reads and steps a replay does not repeat."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext


class Nesting:
    def __init__(self) -> None:
        self._depth = 0
        self._thread = threading.get_ident()
        self.is_in_backward = False

    def begin(self) -> None:
        """The training loop runs in this thread."""
        self._thread = threading.get_ident()

    @property
    def is_nested(self) -> bool:
        """Whether PyTorch itself calls: an optimizer inside an optimizer's step."""
        return self._depth > 0

    @property
    def is_script(self) -> bool:
        """Whether the script itself calls, in the training loop's thread."""
        return self._depth == 0 and self._is_own_thread()

    @property
    def is_pytorch(self) -> bool:
        """Whether PyTorch is at work in the training loop's thread."""
        return self._depth > 0 and self._is_own_thread()

    def inside(self) -> AbstractContextManager[None]:
        """In this context reads are PyTorch's own, which a replay does not repeat."""
        return self._at_depth(self._depth + 1)

    def outside(self) -> AbstractContextManager[None]:
        """In this context PyTorch has called the script's code."""
        return self._at_depth(0)

    @contextmanager
    def backward_pass(self) -> Iterator[None]:
        """PyTorch's functions for it call each other."""
        self.is_in_backward = True
        try:
            yield
        finally:
            self.is_in_backward = False

    def _is_own_thread(self) -> bool:
        return threading.get_ident() == self._thread

    def _at_depth(self, depth: int) -> AbstractContextManager[None]:
        """The depth is the training thread's; reads of other threads never count."""
        return _Depth(self, depth) if self._is_own_thread() else nullcontext()


class _Depth(AbstractContextManager[None]):
    def __init__(self, nesting: Nesting, depth: int) -> None:
        self._nesting, self._depth = nesting, depth

    def __enter__(self) -> None:
        self._before = self._nesting._depth
        self._nesting._depth = self._depth

    def __exit__(self, *_error: object) -> None:
        self._nesting._depth = self._before
