"""What points to a checkpoint that is set aside: links, and small files that name it.

MMEngine's and Detectron2's `last_checkpoint` hold a path, DeepSpeed's `latest` a folder, Megatron's
`latest_checkpointed_iteration.txt` a number, TensorFlow's `checkpoint` names.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ...log import log
from ..families.found import Found
from ..formats.step_names import position_in_name
from ..links import links_to
from ..tree import look

SET_ASIDE_FOLDER = "tidewheel-set-aside"
_LARGEST_BYTES = 4096
_POINTER = re.compile(r"latest|last|newest|checkpoint$", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")


def turn_pointers(
    folder: Path, whole: Iterable[Found], name: str, instead: str | None
) -> Iterator[str]:
    """What points to `name` points to `instead`, where that has such a name, else it goes.

    Yields their names. Files of the checkpoints that are `whole` stay. Raises OSError.
    """
    alike = instead if instead and _shape(instead) == _shape(name) else None
    for link in [*links_to(folder, [name])]:
        text = os.readlink(link)
        link.unlink()
        if alike:
            link.symlink_to(_renamed(text, name, alike) or text)
        yield _told(link.relative_to(folder).as_posix(), name, alike)
    kept = {file for found in whole for file in found.files}
    for file, state in dict(look(folder).root.all_files()).items():
        if file in kept or file.startswith("tidewheel-") or state.size_bytes > _LARGEST_BYTES:
            continue
        text = (folder / file).read_bytes().decode("utf-8", "replace")
        if not _points(file, text, name):
            continue
        target = folder / SET_ASIDE_FOLDER / file
        target.parent.mkdir(parents=True, exist_ok=True)
        (folder / file).replace(target)
        if alike and (renamed := _renamed(text, name, alike)) is not None:
            (folder / file).write_text(renamed, encoding="utf-8")
        yield _told(file, name, alike)


def _told(file: str, name: str, alike: str | None) -> str:
    now = f"now points to {alike}" if alike else "is set aside, too"
    log(f"{file} pointed to {name}: it {now}")
    return file


def _shape(name: str) -> str:
    return _DIGITS.sub("", name)


def _points(file: str, text: str, name: str) -> bool:
    """A log may name it in passing: a pointer has a name that says so, or nothing else in it."""
    is_named = _POINTER.search(Path(file).stem) is not None
    return (is_named or len(text.split()) == 1) and _renamed(text, name, name) is not None


def _renamed(text: str, name: str, other: str) -> str | None:
    """`text` with the name of `other`, or its number alone; None where it names another one."""
    last, word = name.rpartition("/")[2], other.rpartition("/")[2]
    found = re.compile(rf"(?<![\w.-]){re.escape(last)}(?![\w-]|\.\w)")
    if found.search(text):
        return found.sub(lambda _: word, text)
    old, new = position_in_name(last), position_in_name(word)
    if old and new and text.strip().isdecimal() and int(text) == old.step:
        return str(new.step)
    return None
