"""What befalls a machine and does not end it. Each is what Linux itself does, not a mock.

hang     the script's processes are stopped and not continued; the agent goes on
slow     the whole host is stopped for most of each second, for a while
disk     a file system without a free byte lies over the checkpoint folder, with what was there
network  every TCP connection of the host breaks, and none is accepted or lasts

Linux 5.6 or newer, without root; `disk` needs the host's own mounts (opt_ml.py).
"""

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable

import opt_ml

SLOW_SECONDS = 6.0
STOPPED_SECONDS, RUNNING_SECONDS = 0.45, 0.15
CUT_SECONDS = 0.05
CHECKPOINTS = opt_ml.OPT_ML / "checkpoints"
PIDFD_OPEN, PIDFD_GETFD = 434, 438
MNT_DETACH = 2
FREE_BYTES = 1 << 20
"""For what the copy needs beside the bytes of its files; then filled."""

Processes = Callable[[], Iterable[int]]


def begin(kind: str, leader: int, processes: Processes) -> None:
    """`leader` is the host's first process, the agent; `processes` are all of them now."""
    if kind == "hang":
        send([pid for pid in processes() if pid != leader and not is_watchdog(pid)], signal.SIGSTOP)
    elif kind == "disk":
        # A file that is written meanwhile would be missing in the copy.
        stopped = list(processes())
        send(stopped, signal.SIGSTOP)
        fill_disk(leader)
        send(stopped, signal.SIGCONT)
    elif kind in ("slow", "network"):
        work = slow_down if kind == "slow" else cut
        threading.Thread(target=work, args=(processes,), daemon=True).start()


def is_watchdog(pid: int) -> bool:
    """The agent's, and no part of the script."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        return b"\0--watchdog\0" in file.read()
    return False


def send(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def slow_down(processes: Processes) -> None:
    end = time.monotonic() + SLOW_SECONDS
    while time.monotonic() < end:
        stopped = list(processes())
        send(stopped, signal.SIGSTOP)
        time.sleep(STOPPED_SECONDS)
        send(stopped, signal.SIGCONT)
        time.sleep(RUNNING_SECONDS)


def cut(processes: Processes) -> None:
    """Until the host has ended: this process ends with it."""
    while True:
        for pid in processes():
            with contextlib.suppress(OSError):
                shut_sockets(pid)
        time.sleep(CUT_SECONDS)


def shut_sockets(pid: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    process = libc.syscall(PIDFD_OPEN, pid, 0)
    if process < 0:
        return
    try:
        for entry in os.scandir(f"/proc/{pid}/fd"):
            if not os.readlink(entry.path).startswith("socket:"):
                continue
            copy = libc.syscall(PIDFD_GETFD, process, int(entry.name), 0)
            if copy >= 0:
                with socket.socket(fileno=copy) as found, contextlib.suppress(OSError):
                    if found.family in (socket.AF_INET, socket.AF_INET6):
                        found.shutdown(socket.SHUT_RDWR)
    finally:
        os.close(process)


def fill_disk(leader: int) -> None:
    """By a child of its own, which enters the host's mounts and ends."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            enter(leader)
            lay_full_disk()
            code = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(code)
    if os.waitpid(pid, 0)[1] != 0:
        print("the fault `disk` was refused: see above", file=sys.stderr, flush=True)


def enter(pid: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    kinds = [kind for kind in ("user", "mnt") if not is_shared(pid, kind)]
    opened = [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY) for kind in kinds]
    for number in opened:
        if libc.setns(number, 0) != 0:
            raise OSError(ctypes.get_errno(), "setns")


def is_shared(pid: int, kind: str) -> bool:
    return os.readlink(f"/proc/{pid}/ns/{kind}") == os.readlink(f"/proc/self/ns/{kind}")


def lay_full_disk() -> None:
    """Tried twice: files may vanish meanwhile."""
    try:
        cover_checkpoints()
    except OSError:
        cover_checkpoints()


def cover_checkpoints() -> None:
    """Leaves nothing where it fails."""
    sizes = [path.stat().st_size for path in CHECKPOINTS.rglob("*") if path.is_file()]
    full = opt_ml.OPT / "full"
    full.mkdir()
    try:
        opt_ml.mount("tmpfs", str(full), "tmpfs", 0, f"size={2 * sum(sizes) + FREE_BYTES}")
        shutil.copytree(CHECKPOINTS, full, dirs_exist_ok=True)
        with contextlib.suppress(OSError), open(full / ".full", "wb", buffering=0) as ballast:
            while ballast.write(bytes(4096)):
                pass
        opt_ml.bind(full, CHECKPOINTS)
    except OSError:
        ctypes.CDLL(None).umount2(str(full).encode(), MNT_DETACH)
        full.rmdir()
        raise
