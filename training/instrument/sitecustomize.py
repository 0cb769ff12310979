"""Python imports this at its start, since the agent puts the folder on PYTHONPATH.

It does nothing until the program imports a framework, and then installs the hooks. The next
`sitecustomize` on the path, which this one hides, runs as before.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

_HERE = os.path.dirname(os.path.abspath(__file__))


def _run_hidden_one() -> None:
    entries = [os.path.abspath(entry or ".") for entry in sys.path]
    after = entries.index(_HERE) + 1 if _HERE in entries else 0
    others = [entry for entry in sys.path[after:] if os.path.abspath(entry or ".") != _HERE]
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


if os.environ.get("TIDEWHEEL_INSTRUMENT_DIR"):
    try:
        from tidewheel_instrument import start

        start.when_a_framework_is_imported()
    except Exception as error:  # The script comes first: it runs without the hooks.
        print(f"tidewheel: nothing is measured: {error!r}", file=sys.stderr, flush=True)

_run_hidden_one()
