"""Folders for the trial's second process, which must not touch the training's own."""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..configuration.job import Job

_LARGEST_COPY_BYTES = 1 << 20
_REMOVED = ("MLFLOW_RUN_ID", "COMET_API_KEY", "COMET_EXPERIMENT_KEY", "WANDB_RUN_ID")
_TRACKERS = {"WANDB_MODE": "disabled", "NEPTUNE_MODE": "debug"}


@dataclass(frozen=True)
class Scratch:
    """A copy of the source as it was before the script ran, and empty folders for the rest."""

    folder: Path
    replaced: tuple[tuple[str, str], ...]
    """The job's folders, and what stands for each."""

    def environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        kept = {name: text for name, text in environment.items() if name not in _REMOVED}
        return {**{name: self._moved(text) for name, text in kept.items()}, **_TRACKERS}

    def arguments(self, argv: Sequence[str]) -> list[str]:
        return [self._moved(text) for text in argv]

    def directory(self, folder: Path) -> Path:
        return Path(self._moved(str(folder)))

    def clear(self) -> None:
        """Between two processes: what the first one wrote."""
        for _, path in self.replaced[1:]:
            shutil.rmtree(path, ignore_errors=True)
        _make_folders(self.replaced)

    def _moved(self, text: str) -> str:
        for old, new in self.replaced:
            text = re.sub(rf"{re.escape(old)}(?![\w.-])", new.replace("\\", r"\\"), text)
        return text


def make_scratch(job: Job, folder: Path) -> Scratch:
    """Raises OSError."""
    _copy(job.code_dir, folder / "code")
    pairs = [
        (job.code_dir, folder / "code"),
        (job.checkpoint_dir or job.base / "checkpoints", folder / "checkpoints"),
        (job.base / "model", folder / "model"),
        (job.base / "output", folder / "output"),
    ]
    replaced = tuple((str(old), str(new)) for old, new in pairs)
    _make_folders(replaced)
    return Scratch(folder, replaced)


def _make_folders(replaced: Sequence[tuple[str, str]]) -> None:
    for _, path in replaced[1:]:
        Path(path, "data" if path.endswith("/output") else "").mkdir(parents=True)


def _copy(source: Path, target: Path) -> None:
    """Large files become links: the second process may read them."""

    def place(old: str, new: str) -> None:
        if os.path.getsize(old) > _LARGEST_COPY_BYTES:
            os.symlink(old, new)
        else:
            shutil.copy2(old, new)

    shutil.copytree(source, target, copy_function=place, ignore_dangling_symlinks=True)
