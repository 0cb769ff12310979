"""Checkpoints as the pipeline declares them (`training.checkpoint`), in place of every guess."""

import contextlib
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tidewheel_contract.keep_last import superseded

from ..configuration.settings import CheckpointRules
from ..log import log
from .families.found import Found
from .formats.files import FileReader
from .formats.step_names import Position
from .links import followed
from .tree import Folder, look

FAMILY = "declared"
_LAST_NUMBER = re.compile(r"(\d{1,12})(?!.*\d)")


def find_declared(top: Path, rules: CheckpointRules, reader: FileReader) -> Iterator[Found]:
    """What the pattern finds. A file of a known format must be whole, another one quiet."""
    root = look(rules.folder).root
    folders = {each.name: each for each in _folders_below(root)}
    matching = rules.folder.glob(rules.pattern or "*")
    for path in sorted({followed(rules.folder, path) for path in matching}):
        inside = path.relative_to(rules.folder).as_posix()
        name = path.relative_to(top).as_posix()
        parent = folders.get("" if "/" not in inside else inside.rpartition("/")[0], root)
        if inside in folders:
            each = folders[inside]
            files = {f"{name}/{n[len(inside) + 1 :]}": s for n, s in each.all_files()}
            if files:
                yield Found(FAMILY, name, files, position(inside, rules), needs_quiet=True)
        elif path.name in parent.files and inside == parent.child(path.name):
            state = parent.files[path.name]
            with contextlib.suppress(OSError):
                reading = reader.read(path, state)
                found = Found(FAMILY, name, {name: state}, position(inside, rules))
                if reading is None:
                    yield replace(found, needs_quiet=True)
                else:
                    yield replace(found, problem=reading.problem)


def position(inside: str, rules: CheckpointRules) -> Position | None:
    """`inside`: the path relative to the declared folder. None where the newest counts."""
    if rules.step is None and rules.step_by == "time":
        return None
    if rules.step is not None:
        step = next(iter(rules.step.search(inside).values()), None)
    else:
        match = _LAST_NUMBER.search(inside)
        step = match and match[1]
    if step is None or not step.isdecimal() or len(step) > 12:
        return None
    return Position(int(step), "step")


def _folders_below(folder: Folder) -> Iterator[Folder]:
    for below in folder.folders.values():
        yield below
        yield from _folders_below(below)


def superseded_by(rules: CheckpointRules | None, whole: list[Found]) -> list[Found]:
    """Those that `rules` do not keep. One that is not whole stays: its save may be under way."""
    if rules is None or rules.keep is None:
        return []
    by_age = sorted(whole, key=lambda f: (f.position.step if f.position else -1, f.saved_at))
    return superseded(by_age, rules.keep)


def remove(top: Path, found: list[Found]) -> None:
    for each in found:
        path = top / each.name
        with contextlib.suppress(OSError):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            log(f"removed {each.name}: training.checkpoint keeps newer ones")
