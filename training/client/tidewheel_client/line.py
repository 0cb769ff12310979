"""A line that changes in place, where a person sees it: in a notebook or on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def live_line(*, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Yields what shows a text in the place of the one before."""
    notebook = None if quiet else _notebook_display()
    if notebook is not None:
        yield notebook
    elif quiet or not sys.stderr.isatty():
        yield lambda _text: None
    else:
        try:
            yield lambda text: print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        finally:
            print(file=sys.stderr)


def _notebook_display() -> Callable[[str], None] | None:
    """IPython's display handle, if this process is a notebook's kernel."""
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython
    from IPython.display import display

    shell: Any = get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    # Plain text: what a run is called must not become HTML.
    handle = display({"text/plain": ""}, raw=True, display_id=True)
    return lambda text: handle.update({"text/plain": text}, raw=True)
