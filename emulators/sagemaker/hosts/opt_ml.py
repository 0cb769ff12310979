"""Shows a host's folder as /opt/ml to the calling process and its children, and to no other.

Linux only, without root: a user and a mount namespace of the process's own. For programs that have
the container's paths written into them.
"""

import ctypes
import os
import sys
import tempfile
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
OPT = Path("/opt")
OPT_ML = OPT / "ml"


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = (source.encode(), target.encode(), kind.encode(), flags, options.encode())
    _check(libc.mount(*arguments), f"mount {target}")


def _own_namespaces() -> None:
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if user == 0 and libc.unshare(CLONE_NEWNS) == 0:
        return
    _check(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS), "unshare")
    # The same user inside as outside: files keep their owner.
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def bind(source: Path, target: Path) -> None:
    mount(str(source), str(target), "", MS_BIND | MS_REC)


def _rebuild_opt(old: Path) -> None:
    """A new /opt in memory with everything of the old one and room for `ml`. No right to write to
    the real one is needed, and a mount on a real /opt/ml would end when that is removed or moved:
    the host would then share the machine's."""
    bind(OPT, old)
    mount("tmpfs", str(OPT), "tmpfs", 0)
    for entry in old.iterdir():
        if entry.name == OPT_ML.name:
            continue
        target = OPT / entry.name
        if entry.is_symlink():
            target.symlink_to(entry.readlink())
        elif entry.is_dir():
            target.mkdir()
            bind(entry, target)
        elif entry.is_file():
            target.touch()
            bind(entry, target)
    OPT_ML.mkdir()


def can_show(base: str, scratch: str, needed: str) -> bool:
    """Whether `show` works here and leaves the path `needed` in sight. Tried by a child of its own:
    what is half done cannot be undone."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            show(base, scratch)
            os.stat(needed)
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1] == 0


def show(base: str, scratch: str) -> None:
    """base: the folder to be seen as /opt/ml. scratch: an existing folder of the caller's.
    Raises OSError."""
    _own_namespaces()
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    folder = Path(base).resolve()
    old = Path(scratch) / "opt"
    old.mkdir(exist_ok=True)
    _rebuild_opt(old)
    bind(folder, OPT_ML)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(not can_show(scratch, scratch, sys.argv[1]))
