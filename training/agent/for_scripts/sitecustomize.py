"""Python imports this at its start, since the agent puts the folder on PYTHONPATH.

It notes how the program has ended, and keeps W&B's newest rows once wandb is imported. The
next `sitecustomize` on the path, which this one hides, runs as before.
"""

from __future__ import annotations

import importlib.abc
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from types import ModuleType

_HERE = os.path.dirname(os.path.abspath(__file__))


class _WhenWandbIsImported(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self) -> None:
        self._loader: importlib.abc.Loader | None = None

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "wandb":
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            self._loader, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None if self._loader is None else self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec, loader = module.__spec__, self._loader
        assert spec is not None and loader is not None
        spec.loader = module.__loader__ = loader
        loader.exec_module(module)
        try:
            from tidewheel._wandb_rows import keep_rows_of

            keep_rows_of(module)
        except Exception as error:  # The script comes first: it logs as it would without this.
            print(f"tidewheel: W&B's last rows may be lost: {error!r}", file=sys.stderr, flush=True)


def _run_hidden_one() -> None:
    # What comes before this folder hides nothing; this folder may be there twice.
    entries = [os.path.abspath(entry or ".") for entry in sys.path]
    first = entries.index(_HERE) + 1 if _HERE in entries else 0
    behind = [entry for entry in entries[first:] if entry != _HERE]
    spec = PathFinder.find_spec("sitecustomize", behind)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


if os.environ.get("TIDEWHEEL_ENDED_DIR"):
    from tidewheel_end import note_end

    note_end(os.environ["TIDEWHEEL_ENDED_DIR"])

if os.environ.get("TIDEWHEEL_WANDB_ROWS"):
    sys.meta_path.insert(0, _WhenWandbIsImported())

_run_hidden_one()
