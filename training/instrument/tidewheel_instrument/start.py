"""Waits for the script to import a framework; a script that imports none is left alone."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType

from .frameworks import INSTALLERS
from .looks import Looker
from .meter import Meter


def when_a_framework_is_imported() -> None:
    meter = Meter(os.environ["TIDEWHEEL_INSTRUMENT_DIR"])
    meter.begin_looks = lambda: Looker(meter).start()
    finder = _Finder(meter)
    sys.meta_path.insert(0, finder)
    meter.on_remove(lambda: sys.meta_path.remove(finder))


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._waiting = dict(INSTALLERS)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in self._waiting:
            return None
        # Other hooks on the same import, such as those of automatic checkpoints, come after this.
        for finder in [each for each in sys.meta_path if each is not self]:
            find = getattr(finder, "find_spec", None)
            spec: importlib.machinery.ModuleSpec | None = find and find(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader, self._waiting, self._meter)
                return spec
        return None


class _Loader(importlib.abc.Loader):
    def __init__(
        self,
        loader: importlib.abc.Loader,
        waiting: dict[str, Callable[[ModuleType, Meter], None]],
        meter: Meter,
    ) -> None:
        self._loader, self._waiting, self._meter = loader, waiting, meter

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        assert spec is not None
        spec.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        # Not when it is found: a library may only ask whether there is such a module.
        install = self._waiting.pop(module.__name__, None)
        try:
            if install is not None and self._meter.is_on:
                install(module, self._meter)
        except Exception as error:  # The script comes first: it runs without the hooks.
            self._meter.remove(module.__name__, error)
