"""A weak proof for files of unknown formats: a set of new files that no longer changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .families.found import Found
from .formats.files import FileState
from .formats.step_names import position_in_name
from .tree import Folder

QUIET_SECONDS = 10.0
FAMILY = "files of an unknown format"
_NO_STATE = [
    ".log",
    ".txt",
    ".csv",
    ".tsv",
    ".json",
    ".jsonl",
    ".yaml",
    ".yml",
    ".toml",
    ".md",
    ".html",
    ".xml",
    ".py",
    ".ipynb",
    ".sh",
    ".cfg",
    ".ini",
    ".png",
    ".jpg",
    ".jpeg",
    ".gif",
    ".svg",
    ".webp",
    ".mp4",
    ".wav",
    ".flac",
    ".mp3",
    ".pdf",
    ".lock",
    ".pid",
    ".out",
    ".err",
    ".zip",
    ".gz",
]
_NOISE_FOLDERS = (".git", "wandb", "mlruns", "__pycache__", "tensorboard", "runs")
_OWN = "tidewheel-"


def unknown_sets(
    root: Folder, claimed: set[str], before: Mapping[str, FileState]
) -> Iterator[Found]:
    """One set for each folder at the top, and one for each file there.

    `before`: files from before the script started; `claimed`: names that other readers know.
    """
    for name, state in root.files.items():
        if name not in claimed and before.get(name) != state and _may_be_state(name):
            yield Found(FAMILY, name, {name: state}, position_in_name(name), needs_quiet=True)
    for folder in root.folders.values():
        if folder.base_name in _NOISE_FOLDERS:
            continue
        files = dict(folder.all_files())
        if any(name in claimed for name in files):
            continue
        new = {name for name, state in files.items() if before.get(name) != state}
        if any(_may_be_state(name) for name in new):
            position = position_in_name(folder.base_name)
            yield Found(FAMILY, folder.name, files, position, needs_quiet=True)


def _may_be_state(name: str) -> bool:
    base = name.rpartition("/")[2].lower()
    if base.startswith((_OWN, ".", "events.out.tfevents")) or base == "checkpoint":
        return False
    return not base.endswith(tuple(_NO_STATE))
