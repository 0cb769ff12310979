"""Links inside the checkpoint folder, such as `LATEST -> epoch_0_step_20`.

S3 holds none: in a copy of the folder they are gone, or a copy of what they led to is in their
place. So a note beside the checkpoints lists them, and they are made again before a script starts.
"""

import json
import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from ..files import UNREADABLE, write_atomically
from ..log import log

LINKS_FILE = "tidewheel-links.json"
_OWN = "tidewheel-"
_MOST = 10_000


def find_links(folder: Path) -> dict[str, str]:
    """By name, relative to the folder: where each leads, as the script wrote it. An absolute path
    is relative to the folder behind its slash: a later host may have the folder elsewhere."""
    root = os.path.realpath(folder)
    found: dict[str, str] = {}
    for parent, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(_OWN)]
        for path in (os.path.join(parent, name) for name in (*folders, *files)):
            if len(found) < _MOST and os.path.islink(path) and leads_inside(path, root):
                target = os.readlink(path)
                if os.path.isabs(target):
                    target = f"/{os.path.relpath(os.path.realpath(target), root)}"
                found[os.path.relpath(path, root)] = target
    return found


def leads_inside(path: str | Path, root: str) -> bool:
    """`root`: without links. A link to the folder itself leads nowhere inside."""
    return os.path.realpath(path).startswith(f"{root}{os.sep}")


def note_links(folder: Path, known: Mapping[str, str] | None) -> Mapping[str, str]:
    """`known`: those of the last call. Returns those that are there now."""
    links = find_links(folder)
    if links != (_noted(folder) if known is None else known):
        write_atomically(folder / LINKS_FILE, json.dumps({"links": links}) + "\n")
    return links


def make_links_again(folder: Path) -> None:
    """Only where what they lead to is there: else a copy in their place is better than nothing."""
    waiting, made = _noted(folder), 1
    while made:
        ready = [name for name in waiting if _target(folder, name, waiting[name]).exists()]
        made = sum(_make(folder, name, waiting.pop(name)) for name in ready)


def _noted(folder: Path) -> dict[str, str]:
    try:
        links = json.loads((folder / LINKS_FILE).read_text(encoding="utf-8"))["links"]
        root = os.path.realpath(folder)
        return {name: str(text) for name, text in links.items() if _is_inside(root, name, text)}
    except UNREADABLE:
        return {}


def _is_inside(root: str, name: str, text: str) -> bool:
    places = (Path(root, name), _target(Path(root), name, text))
    return all(os.path.normpath(place).startswith(f"{root}{os.sep}") for place in places)


def _target(folder: Path, name: str, text: str) -> Path:
    return folder / text[1:] if os.path.isabs(text) else (folder / name).parent / text


def _make(folder: Path, name: str, text: str) -> bool:
    path = folder / name
    if path.is_symlink():
        return False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.symlink_to(folder / text[1:] if os.path.isabs(text) else text)
    except OSError as error:
        log(f"cannot make the link {name} again: {error}")
        return False
    log(f"made the link {name} to {text.lstrip('/')} again")
    return True


def followed(folder: Path, path: Path) -> Path:
    """What a link within the folder leads to; any other path as it is."""
    root = os.path.realpath(folder)
    if not path.is_symlink() or not leads_inside(path, root):
        return path
    return folder / os.path.relpath(os.path.realpath(path), root)


def links_to(folder: Path, names: Collection[str]) -> Iterator[Path]:
    """Those that lead to one of these, into it, or to a folder of one."""
    root = os.path.realpath(folder)
    for link in find_links(folder):
        place = f"{os.path.relpath(os.path.realpath(folder / link), root)}/"
        if any(f"{name}/".startswith(place) or place.startswith(f"{name}/") for name in names):
            yield folder / link
