"""Finds and signals the processes of the script, in whatever session they are.

Launchers such as torchrun start their workers in sessions of their own, so a process group does not
hold them all. Every process of the script inherits a variable with a token, which /proc shows.
Ray's daemons overwrite what /proc shows of them. When their parent has ended too, this process has
adopted them, which is the only sign that they belong to the script.
"""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from ..agent_path import OWN_CHILDREN, SERVICE_VARIABLE, STACK_SIGNAL
from .leftovers import Leftovers

TOKEN_VARIABLE = "TIDEWHEEL_SCRIPT_TOKEN"
_MPI_LAUNCHERS = ("mpiexec", "mpirun", "mpiexec.hydra", "hydra_pmi_proxy")
_PROC = Path("/proc")
_PR_SET_CHILD_SUBREAPER = 36
"""https://man7.org/linux/man-pages/man2/PR_SET_CHILD_SUBREAPER.2const.html"""


class Process(NamedTuple):
    pid: int
    parent: int
    arguments: tuple[str, ...]
    catches_sigterm: bool
    is_service: bool = False
    shows_stack: bool = False
    """The hooks are in it, and write where it stands at STACK_SIGNAL."""


def adopt_orphans() -> bool:
    """Makes this process adopt every process below it whose parent ends; False where the system
    cannot. The first process of a container adopts orphans anyway."""
    try:
        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def script_processes(
    token: str, roots: Iterable[int], excluded: Collection[int] = ()
) -> list[Process]:
    """Living processes that carry the token or descend from `roots`, without this process and
    without those `excluded` and its own children."""
    found: dict[int, Process] = {}
    marked: set[int] = set()
    needle = f"{TOKEN_VARIABLE}={token}".encode()
    for entry in _PROC.iterdir():
        if not entry.name.isdigit() or int(entry.name) in (os.getpid(), *OWN_CHILDREN, *excluded):
            continue
        process = _read(entry)
        if process is None:
            continue
        found[process.pid] = process
        # Another user's process cannot be read, and one that has ended meanwhile does not matter.
        with contextlib.suppress(OSError):
            variables = (entry / "environ").read_bytes().split(b"\0")
            if needle in variables:
                marked.add(process.pid)
            if f"{SERVICE_VARIABLE}=1".encode() in variables:
                found[process.pid] = process._replace(is_service=True)
    of_script = marked | _descendants(found.values(), roots)
    # Ray's workers rename themselves, which overwrites the variables that /proc shows.
    services = [pid for pid in of_script if pid in found and found[pid].is_service]
    services_and_below = {pid for top in services for pid in _descendants(found.values(), [top])}
    return [
        process._replace(is_service=True) if pid in services_and_below else process
        for pid, process in sorted(found.items())
        if pid in of_script
    ]


def _descendants(processes: Iterable[Process], roots: Iterable[int]) -> set[int]:
    children: dict[int, list[int]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process.pid)
    found: set[int] = set()
    pending = list(roots)
    while pending:
        pid = pending.pop()
        if pid not in found:
            found.add(pid)
            pending += children.get(pid, [])
    return found


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
            shows_stack=bool(caught >> (STACK_SIGNAL - 1) & 1),
        )
    except (OSError, KeyError, ValueError):
        return None


def sigterm_targets(processes: Iterable[Process], launcher: int | None) -> list[int]:
    """Which processes get SIGTERM: those that save on it, and nothing that saving needs.

    - A process with a handler does.
    - A process without a handler does not: it would die with nothing saved.
    - The launcher does not: torchrun and mpiexec tear their ranks down on SIGTERM.
    - A service does not: parameter servers and Ray's daemons hold what is to be saved.
    - A helper of a process with a handler (loader worker, compile worker) does not: it would die
      of the signal and take the save with it. Helpers are forks with the same command line, or come
      from Python's multiprocessing.
    """
    by_pid = {process.pid: process for process in processes}
    launchers = {launcher} | {pid for pid, process in by_pid.items() if _is_mpi_launcher(process)}

    def is_helper(process: Process) -> bool:
        parent = by_pid.get(process.parent)
        seen = {process.pid}
        while parent is not None and parent.pid not in seen:
            if parent.catches_sigterm and parent.pid not in launchers:
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
        and process.pid not in launchers
        and not is_helper(process)
    ]


def _is_mpi_launcher(process: Process) -> bool:
    return bool(process.arguments) and Path(process.arguments[0]).name in _MPI_LAUNCHERS


def _is_multiprocessing(arguments: tuple[str, ...]) -> bool:
    return any("multiprocessing." in part or "compile_worker" in part for part in arguments[1:4])


def send(pids: Iterable[int], number: int) -> list[int]:
    """Signals each process; returns those that still ran."""
    reached = []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
            reached.append(pid)
    return reached


def kill_all(
    token: str, roots: Iterable[int], leftovers: Leftovers, excluded: Collection[int] = ()
) -> int:
    """Sends SIGKILL to the script's processes until none is left, and removes what they leave
    behind; returns how many it killed."""
    killed: set[int] = set()
    for _ in range(20):
        living = [process.pid for process in script_processes(token, roots, excluded)]
        if not living:
            break
        leftovers.look(living)
        killed.update(send(living, signal.SIGKILL))
        time.sleep(0.02)
    leftovers.remove()
    return len(killed)
