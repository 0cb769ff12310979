"""Folders of saves that a kill ended before their files made a checkpoint of any kind.

A framework makes `checkpoint-40/` first and fills it file by file. A kill leaves it empty or with
the first files, and a script that resumes from the highest number then finds nothing to load.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..families.found import Found
from ..formats.files import FileState
from ..formats.step_names import position_in_name
from ..tree import Folder

_DIGITS = re.compile(r"\d+")


def begun_folders(
    root: Folder, known: Iterable[Found], given: Mapping[str, FileState]
) -> list[Found]:
    """Folders with a step in their names in which nothing was recognised, also empty ones.

    `known`: what was. `given`: files that were there before the run began.
    """
    claimed = {name.split("/")[0] for found in known for name in (found.name, *found.files)}
    begun = []
    for name, folder in root.folders.items():
        position, files = position_in_name(name), dict(folder.all_files())
        is_given = bool(files) and files.items() <= given.items()
        if position is not None and name not in claimed and not is_given:
            begun.append(Found("", name, files, position))
    return begun


def cut_short(begun: Iterable[Found], whole: Iterable[Found]) -> list[Found]:
    """Those that lack files which a whole checkpoint of the same naming has; with the problem."""
    return [
        replace(found, problem=problem)
        for found in begun
        if found.files and (problem := _lacks(found, whole))
    ]


def _lacks(found: Found, whole: Iterable[Found]) -> str:
    for other in whole:
        if _DIGITS.sub("", other.name) != _DIGITS.sub("", found.name):
            continue
        missing = sorted(_names_in(other) - _names_in(found))
        if missing and _names_in(found) <= _names_in(other):
            return f"{found.name} lacks {missing[0]}, which {other.name} has"
    return ""


def _names_in(found: Found) -> set[str]:
    return {name.removeprefix(f"{found.name}/") for name in found.files}


def remove_empty_folder(folder: Folder) -> None:
    """With the empty folders in it."""
    for below in folder.folders.values():
        remove_empty_folder(below)
    with contextlib.suppress(OSError):
        folder.path.rmdir()
