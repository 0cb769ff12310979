"""What attempts have saved in the checkpoint folder, while a replay goes through its steps again.

It would write these files once more: hollow where `torch.save` is silent, doubled where the script
appends; and the folder may be uploaded at any moment. So until the saved step is reached, Python's
functions write beside them. Files that the replay makes again are there as before.
"""

from __future__ import annotations

import builtins
import functools
import gc
import io
import os
import pathlib
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from tidewheel._checkpoint_folder import write_synced

_PATHS = (str, bytes, os.PathLike)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_TRUNC


class Aside:
    def __init__(self, root: pathlib.Path) -> None:
        self._root = os.path.realpath(root)
        self._saved: dict[str, int] = {}
        """With the sizes."""
        self._gone: set[str] = set()
        """What the replay has removed of it."""
        self._folder = ""
        self._opened: list[tuple[weakref.ref[Any], str]] = []
        """Files of the script that are open aside, and in whose place. The script alone holds them:
        `open(path, "w").write(text)` is closed at once."""
        self._originals: list[tuple[Any, str, Any]] = []

    def note_saved(self) -> None:
        """Before the script's own work: what is there, an attempt has saved."""
        self._saved = {path: os.path.getsize(path) for path in _files(self._root)}

    def begin(self) -> None:
        for path, size in list(self._saved.items()):
            # The script has begun it again before its first step: it is its own.
            if not os.path.exists(path) or os.path.getsize(path) < size:
                del self._saved[path]
        self._folder = tempfile.mkdtemp(prefix="tidewheel-replay-")
        for file in gc.get_objects():
            # A log that is open, whose lines are there already.
            if type(file) is io.TextIOWrapper and not file.closed and "a" in file.mode:
                place = self._place(file.name, "a")
                if place != file.name:
                    self._opened.append((weakref.ref(file), file.name))
                    _turn(file, place)
        changes: dict[Any, Callable[..., Any]] = {
            **dict.fromkeys((builtins.open, os.open), self._open),
            **dict.fromkeys((os.rename, os.replace), self._rename),
            os.mkdir: self._make,
            **dict.fromkeys((os.link, os.symlink), self._link),
            **dict.fromkeys((os.remove, os.unlink, shutil.rmtree), self._remove),
        }
        leading = {id(each): _leading(change, each) for each, change in changes.items()}
        for owner, names in _namespaces():
            for name, value in list(names.items()):
                if id(value) in leading:
                    self._originals.append((owner, name, value))
                    setattr(owner, name, leading[id(value)])

    def end(self) -> None:
        """The step is reached, or never will be. Does nothing where no replay has begun."""
        for owner, name, original in self._originals:
            setattr(owner, name, original)
        for reference, real in self._opened:
            if (file := reference()) is not None and not file.closed:
                _turn(file, real)
        shutil.rmtree(self._folder, ignore_errors=True)

    def saves_nothing(self, path: str | os.PathLike[str]) -> None:
        """`torch.save` is silent; the script may rename the file, or remove it later."""
        self._gone.discard(os.path.realpath(path))
        if not os.path.exists(path):
            open(path, "wb").close()

    def _open(self, original: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
        mode = args[0] if args else kwargs.get("mode", kwargs.get("flags", "r"))
        place = self._place(path, mode)
        file = original(place, *args, **kwargs)
        if place is not path and isinstance(file, io.IOBase):
            self._opened.append((weakref.ref(file), os.path.realpath(path)))
        return file

    def _make(self, original: Any, path: Any, *args: Any, **kwargs: Any) -> None:
        found = self._saved_at(path)
        if not found or not self._gone.issuperset(found):
            original(path, *args, **kwargs)

    def _link(self, original: Any, src: Any, dst: Any, *args: Any, **kwargs: Any) -> None:
        """A link that an attempt has left stays as it is, also one that the replay has removed."""
        found = self._saved_at(dst)
        self._gone.difference_update(found)
        if not found:
            original(src, dst, *args, **kwargs)

    def _remove(self, original: Any, path: Any, *args: Any, **kwargs: Any) -> None:
        """A file, or a folder with all that is in it. A listing still shows what is gone, so that
        a script which removes what it finds there may come to it again."""
        found = self._saved_at(path)
        if not found:
            original(path, *args, **kwargs)
        for each in found:
            if os.path.exists(place := self._beside(each)):
                os.remove(place)
            self._gone.add(each)

    def _rename(self, original: Any, src: Any, dst: Any) -> None:
        if not self._saved_at(src) and not self._saved_at(dst):
            original(src, dst)
            return
        is_folder, target = os.path.isdir(src), os.fsdecode(dst)
        for path in list(_files(os.fsdecode(src))) if is_folder else [os.fsdecode(src)]:
            place = self._place(target + path.removeprefix(os.fsdecode(src)), "w")
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copy2(self._place(path, "r"), place)
        (shutil.rmtree if is_folder else os.remove)(src)

    def _place(self, path: Any, mode: Any) -> Any:
        """Where it is opened: beside a saved file, once the script has changed it."""
        real = os.path.realpath(os.fsdecode(path)) if isinstance(path, _PATHS) else ""
        if real not in self._saved:
            return path
        place = self._beside(real)
        if isinstance(mode, int):
            writes, empties = bool(mode & _WRITING), bool(mode & os.O_TRUNC)
        else:
            writes, empties = not {*mode}.isdisjoint("wax+"), "w" in mode
        is_changed = real in self._gone or os.path.exists(place)
        if writes and not empties and not is_changed:
            shutil.copy2(real, place)
        return place if writes or is_changed else path

    def _saved_at(self, path: Any) -> list[str]:
        """The saved files that the path names, or that are below it."""
        text = os.path.abspath(os.fsdecode(path)) if isinstance(path, _PATHS) else ""
        real = os.path.join(os.path.realpath(os.path.dirname(text)), os.path.basename(text))
        return [each for each in self._saved if each == real or each.startswith(real + os.sep)]

    def _beside(self, path: str) -> str:
        beside = self._folder + path.removeprefix(self._root)
        os.makedirs(os.path.dirname(beside), exist_ok=True)
        return beside


def _leading(change: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def leading(*args: Any, **kwargs: Any) -> Any:
        # `shutil.rmtree` works within an open folder.
        is_elsewhere = any(name.endswith("dir_fd") and kwargs[name] is not None for name in kwargs)
        if not args or is_elsewhere:
            return original(*args, **kwargs)
        return change(original, *args, **kwargs)

    return leading


def _namespaces() -> Iterator[tuple[Any, Any]]:
    """Where a name may stand for a function: `from os import remove` makes one more."""
    for module in list(sys.modules.values()):
        yield module, getattr(module, "__dict__", {})
    if accessor := getattr(pathlib, "_normal_accessor", None):  # Of Python 3.10.
        yield accessor, vars(type(accessor))


def _files(folder: str) -> Iterator[str]:
    for where, _, names in os.walk(folder):
        yield from (os.path.join(where, name) for name in names)


def _turn(file: Any, path: str) -> None:
    """What the script writes to an open file goes to the end of this one from now on."""
    file.flush()
    opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    os.dup2(opened, file.fileno(), inheritable=False)
    os.close(opened)


class Files:
    """Those that the script wrote with `torch.save`; a resumed script may read them again."""

    def __init__(self, root: pathlib.Path) -> None:
        """`root`: the checkpoint folder, which outlives the host."""
        self._root = os.path.realpath(root)
        self._folder = os.getcwd()
        self._names: dict[str, None] = {}
        sys.addaudithook(self._follow)

    def wrote(self, path: str | os.PathLike[str], *, by_name: bool = True) -> None:
        """`by_name`: else through an open file or archive. Each checkpoint would hold all of those
        that a callback leaves in the checkpoint folder, which are safe there."""
        if by_name or not os.path.realpath(path).startswith(self._root + os.sep):
            self._names[self._name_of(path)] = None

    def contents(self) -> dict[str, bytes]:
        paths = {name: pathlib.Path(self._folder, name) for name in self._names}
        return {name: path.read_bytes() for name, path in paths.items() if path.is_file()}

    def write_back(self, contents: dict[str, bytes], *, replaces: bool) -> None:
        """`replaces`: what a later step has written; its own content is of the saved step."""
        for name, content in contents.items():
            self._names[name] = None
            path = pathlib.Path(self._folder, name)
            if path.exists() and not replaces:
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            write_synced(path, content)

    def _name_of(self, path: str | os.PathLike[str]) -> str:
        """A later host may run the script in a folder of another name."""
        whole = os.path.abspath(path)
        below = os.path.relpath(whole, self._folder)
        return whole if below.startswith("..") else below

    def _follow(self, event: str, arguments: tuple[Any, ...]) -> None:
        """The script renames what it has saved, or copies it."""
        if event in ("os.rename", "shutil.copyfile"):
            old, new = arguments[:2]
            is_named = isinstance(old, (str, os.PathLike)) and isinstance(new, (str, os.PathLike))
            if is_named and self._name_of(old) in self._names:
                self.wrote(new)
