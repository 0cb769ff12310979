"""Finding and signalling the processes of the script, wherever they have gone.

Launchers start their workers in sessions of their own (torchrun does), so a process group is not
enough: every process of the script inherits a variable with a token, and /proc is asked for it.
Some overwrite what /proc shows of them (Ray's daemons do); where their parent has ended too, only
their being this process's by adoption tells whose they are.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

TOKEN_VARIABLE = "TIDEWHEEL_SCRIPT_TOKEN"
SERVICE_VARIABLE = "TIDEWHEEL_SERVICE"
"""Set for programs that serve the script (parameter servers, Ray's): the save needs them."""
_MPI_STARTERS = ("mpiexec", "mpirun", "mpiexec.hydra", "hydra_pmi_proxy")
_PROC = Path("/proc")
_PR_SET_CHILD_SUBREAPER = 36
"""https://man7.org/linux/man-pages/man2/PR_SET_CHILD_SUBREAPER.2const.html"""


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    arguments: tuple[str, ...]
    catches_sigterm: bool
    is_service: bool = False


def adopt_orphans() -> bool:
    """From now on a process below this one whose parent ends becomes this one's child; False where
    the system cannot do that. The first process of a container adopts without being told."""
    try:
        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def script_processes(
    token: str, roots: Iterable[int], apart: Collection[int] = ()
) -> list[Process]:
    """Living processes that carry the token, and the living descendants of `roots`; without this
    process, and without those `apart`."""
    found: dict[int, Process] = {}
    marked: set[int] = set()
    needle = f"{TOKEN_VARIABLE}={token}".encode()
    for entry in _PROC.iterdir():
        if not entry.name.isdigit() or int(entry.name) in (os.getpid(), *apart):
            continue
        process = _read(entry)
        if process is None:
            continue
        found[process.pid] = process
        # Not ours to read (another user's), or gone meanwhile: then it is not the script's.
        with contextlib.suppress(OSError):
            variables = (entry / "environ").read_bytes().split(b"\0")
            if needle in variables:
                marked.add(process.pid)
            if f"{SERVICE_VARIABLE}=1".encode() in variables:
                found[process.pid] = replace(process, is_service=True)
    ours = marked | _descendants(found.values(), roots)
    # A process that renames itself (Ray's workers do) overwrites the variables that are shown.
    served = {pid for pid in ours if pid in found and found[pid].is_service}
    served = {below for pid in served for below in _descendants(found.values(), [pid])}
    return [
        replace(process, is_service=True) if pid in served else process
        for pid, process in sorted(found.items())
        if pid in ours
    ]


def _descendants(processes: Iterable[Process], roots: Iterable[int]) -> set[int]:
    children: dict[int, list[int]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process.pid)
    ours: set[int] = set()
    open_ends = list(roots)
    while open_ends:
        pid = open_ends.pop()
        if pid not in ours:
            ours.add(pid)
            open_ends += children.get(pid, [])
    return ours


def _read(entry: Path) -> Process | None:
    try:
        fields = dict(
            line.split(":\t", 1)
            for line in (entry / "status").read_text(errors="replace").splitlines()
            if ":\t" in line
        )
        command = (entry / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
        if fields["State"].startswith(("Z", "X")):
            return None
        caught = int(fields["SigCgt"], 16)
        return Process(
            pid=int(entry.name),
            parent=int(fields["PPid"]),
            arguments=tuple(os.fsdecode(part) for part in command),
            catches_sigterm=bool(caught >> (signal.SIGTERM - 1) & 1),
        )
    except (OSError, KeyError, ValueError):
        return None


def listeners(processes: Iterable[Process], launcher: int | None) -> list[int]:
    """Who is to hear SIGTERM so that the work is saved and nothing that saving needs is killed.

    - The launcher does not: torchrun and mpiexec answer SIGTERM by tearing their ranks down.
    - A service does not: parameter servers and Ray's daemons hold what is to be saved.
    - A process with a handler does.
    - A helper of such a process does not (loader workers, compile workers): it would die of the
      signal and take the save with it. Helpers are forks (same command line) or come from
      Python's multiprocessing.
    - A process without a handler does not: it would die with nothing saved.
    """
    by_pid = {process.pid: process for process in processes}
    starters = {launcher} | {pid for pid, process in by_pid.items() if _starts_ranks(process)}

    def is_helper(process: Process) -> bool:
        parent = by_pid.get(process.parent)
        seen = {process.pid}
        while parent is not None and parent.pid not in seen:
            if parent.catches_sigterm and parent.pid not in starters:
                same = parent.arguments == process.arguments
                return same or _is_multiprocessing(process.arguments)
            seen.add(parent.pid)
            parent = by_pid.get(parent.parent)
        return False

    return [
        process.pid
        for process in by_pid.values()
        if process.catches_sigterm
        and not process.is_service
        and process.pid not in starters
        and not is_helper(process)
    ]


def _starts_ranks(process: Process) -> bool:
    return bool(process.arguments) and Path(process.arguments[0]).name in _MPI_STARTERS


def _is_multiprocessing(arguments: tuple[str, ...]) -> bool:
    return any("multiprocessing." in part or "compile_worker" in part for part in arguments[1:4])


def send(pids: Iterable[int], number: signal.Signals) -> list[int]:
    """Signals each; returns those that were still there."""
    reached = []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
            reached.append(pid)
    return reached


def kill_all(token: str, roots: Iterable[int], apart: Collection[int] = ()) -> int:
    """SIGKILL to every process of the script until none is left; returns how many were killed."""
    killed: set[int] = set()
    for _ in range(20):
        living = [process.pid for process in script_processes(token, roots, apart)]
        if not living:
            break
        killed.update(send(living, signal.SIGKILL))
        time.sleep(0.02)
    return len(killed)
