"""Waits for the script to import torch; a script that does not is left alone."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType


def when_torch_is_imported() -> None:
    sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "torch":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self)
        return spec


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: importlib.abc.Loader, finder: _Finder) -> None:
        self._loader, self._finder = loader, finder

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        assert spec is not None
        spec.loader = module.__loader__ = self._loader
        # Not when it is found: a library such as transformers asks first whether torch is there.
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        self._loader.exec_module(module)
        try:
            _install()
        except Exception as error:  # The script comes first: it runs without the hooks.
            print(f"tidewheel: no automatic checkpoints: {error!r}", file=sys.stderr, flush=True)


def _install() -> None:
    from .hooks import install
    from .options import read_options
    from .ranks.distributed import is_launcher
    from .sandbox import note_written_files
    from .session import Session

    options = read_options()
    if is_launcher():
        return
    if options.trial is not None:
        note_written_files()
    install(Session(options))
