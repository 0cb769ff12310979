"""Names that outlive a killed script, and keep its next start from making its own.

Shared memory and sockets, such as those of mosaicml-streaming, are there until someone removes
them. A name is the script's if it was not there before the script, a process of the script held it,
and no process holds it now. Of a host that shares its machine, others make names meanwhile.
"""

import contextlib
import os
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

_PROC = Path("/proc")
_SHARED = "/dev/shm/"
_LOOK_SECONDS = 30.0


class Leftovers:
    """`before`: the names that were there before the script; by default those of now."""

    def __init__(self, before: Iterable[str] | None = None) -> None:
        self.before = frozenset(_names() if before is None else before)
        self._held: set[str] = set()
        self._next_look = 0.0

    def look(self, pids: Iterable[int]) -> None:
        """Before their processes are killed, and now and then: some end by themselves."""
        self._held.update(set(_held_by(pids)) - self.before)

    def is_due(self) -> bool:
        now = time.monotonic()
        is_due = now >= self._next_look
        if is_due:
            self._next_look = now + _LOOK_SECONDS
        return is_due

    def remove(self) -> None:
        """Once the script's processes are gone."""
        there = {name for name in self._held if os.path.lexists(name)}
        if there:
            for name in there.difference(_held_by(_all_processes())):
                with contextlib.suppress(OSError):
                    os.unlink(name)
        self._held.clear()


def _all_processes() -> list[int]:
    return [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]


def _names() -> Iterator[str]:
    for folder, _, files in os.walk(_SHARED):
        yield from (os.path.join(folder, name) for name in files)
    yield from _sockets().values()


def _sockets() -> dict[str, str]:
    """The paths of sockets by inode. Abstract ones have no file."""
    found = {}
    with contextlib.suppress(OSError):
        for line in (_PROC / "net/unix").read_text(errors="replace").splitlines()[1:]:
            fields = line.split(maxsplit=7)
            if len(fields) == 8 and fields[7].startswith("/"):
                found[fields[6]] = fields[7]
    return found


def _held_by(pids: Iterable[int]) -> Iterator[str]:
    """Mapped, open or bound. Of another user's process nothing can be read, and its names are not
    this user's to remove."""
    sockets = _sockets()
    for pid in pids:
        with contextlib.suppress(OSError):
            for line in (_PROC / str(pid) / "maps").read_text(errors="replace").splitlines():
                if _SHARED in line:
                    yield line[line.index(_SHARED) :]
        with contextlib.suppress(OSError):
            for entry in os.scandir(_PROC / str(pid) / "fd"):
                with contextlib.suppress(OSError):
                    yield from _of_descriptor(os.readlink(entry.path), sockets)


def _of_descriptor(target: str, sockets: dict[str, str]) -> Collection[str]:
    if target.startswith(_SHARED):
        return (target,)
    path = sockets.get(target[len("socket:[") : -1]) if target.startswith("socket:[") else None
    return () if path is None else (path,)
