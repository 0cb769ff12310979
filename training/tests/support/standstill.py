"""A process that stands still at each operation that makes, replaces or removes a file.

What the disk holds then is what a kill at that moment would leave, whatever language writes. The
kernel asks a supervisor, see seccomp_unotify(2). Threads and children of the process obey, too.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import select
import signal
import socket
import struct
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_MACHINE = "x86_64"
_OPEN, _OPENAT = 2, 257
_PATHS_OF: dict[int, tuple[tuple[int, int | None], ...]] = {
    _OPEN: ((0, None),),
    82: ((0, None), (1, None)),  # rename
    83: ((0, None),),  # mkdir
    84: ((0, None),),  # rmdir
    86: ((0, None), (1, None)),  # link
    87: ((0, None),),  # unlink
    88: ((1, None),),  # symlink
    _OPENAT: ((1, 0),),
    258: ((1, 0),),  # mkdirat
    263: ((1, 0),),  # unlinkat
    264: ((1, 0), (3, 2)),  # renameat
    265: ((1, 0), (3, 2)),  # linkat
    266: ((2, 1),),  # symlinkat
    316: ((1, 0), (3, 2)),  # renameat2
}
"""By the number of the call: which arguments are paths, and which holds the folder of each."""
_CURRENT_FOLDER = 0xFFFFFF9C
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_ALLOW, _ASK = 0x7FFF0000, 0x7FC00000
_SECCOMP, _PRCTL_NO_NEW_PRIVILEGES = 317, 38
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_CONTINUE = 1


def _program() -> bytes:
    """Asks at each of the calls above, but only at opens that may write."""

    def line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
        return struct.pack("HBBI", code, if_true, if_false, value)

    load, equal, any_bit, answer = 0x20, 0x15, 0x45, 0x06
    lines = [line(load, 0)]
    for number, flags_at in ((_OPENAT, 32), (_OPEN, 24)):
        check = [line(load, flags_at), line(any_bit, _WRITING, 0, 1)]
        check += [line(answer, _ASK), line(answer, _ALLOW)]
        lines += [line(equal, number, 0, len(check)), *check]
    for number in _PATHS_OF.keys() - {_OPENAT, _OPEN}:
        lines += [line(equal, number, 0, 1), line(answer, _ASK)]
    return b"".join([*lines, line(answer, _ALLOW)])


def _stand_still_and_become(command: list[str]) -> None:
    """In the process itself: hands the kernel's questions over and becomes the command."""
    to_test = socket.socket(fileno=int(os.environ.pop("STANDSTILL_FD")))
    program = _program()
    content = ctypes.create_string_buffer(program)
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(content))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PRCTL_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    questions = libc.syscall(_SECCOMP, 1, 8, ctypes.create_string_buffer(header))
    if questions < 0:
        raise OSError(ctypes.get_errno(), "the kernel does not let a process be supervised")
    socket.send_fds(to_test, [b"."], [questions])
    os.execv(command[0], command)


@dataclass(frozen=True)
class Still:
    """The process waits until the iteration goes on."""

    pid: int
    paths: tuple[str, ...]


class Standstill:
    """Runs `command` with `environment`."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        assert platform.machine() == _MACHINE, f"it knows the system calls of {_MACHINE} alone"
        self._printed = bytearray()
        self._mark = uuid.uuid4().hex
        here, there = socket.socketpair()
        with here, there:
            self.process = subprocess.Popen(
                [sys.executable, __file__, *command],
                env={**environment, "STANDSTILL": self._mark, "STANDSTILL_FD": str(there.fileno())},
                pass_fds=[there.fileno()],
                # A limit to the length of files would count in a file.
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            there.close()
            _, (self._questions,), _, _ = socket.recv_fds(here, 1, 1)
        assert self.process.stdout is not None
        self._stdout = self.process.stdout
        self._output = self._stdout.fileno()
        os.set_blocking(self._output, False)

    @property
    def output(self) -> str:
        return self._printed.decode(errors="replace")

    def stops(self, timeout_seconds: float) -> Iterator[Still]:
        """Ends with the process. Raises TimeoutError if it takes no step for so long."""
        poll = select.poll()
        poll.register(self._questions, select.POLLIN)
        poll.register(self._output, select.POLLIN)
        last = time.monotonic()
        while self.process.poll() is None:
            ready = dict(poll.poll(250))
            self._read()
            if ready.get(self._questions, 0) & select.POLLIN:
                yield from self._answer()
                last = time.monotonic()
            elif time.monotonic() - last > timeout_seconds:
                raise TimeoutError(f"no step for {timeout_seconds} s: {self.output[-2000:]}")
        self._read()

    def _read(self) -> None:
        with suppress(BlockingIOError):
            while chunk := os.read(self._output, 1 << 16):
                self._printed += chunk

    def _answer(self) -> Iterator[Still]:
        question = bytearray(80)
        try:
            fcntl.ioctl(self._questions, _RECEIVE, question)
        except OSError:
            return  # A thread that a signal has interrupted asks again.
        key, pid, _, number, _, _, *values = struct.unpack("QIIiIQ6Q", question)
        paths: list[str] = []
        with suppress(OSError):
            paths += _paths(pid, number, values)
        if paths:
            yield Still(pid, tuple(paths))
        with suppress(OSError):
            fcntl.ioctl(self._questions, _SEND, struct.pack("QqiI", key, 0, 0, _CONTINUE))

    def kill(self) -> None:
        """With all that it has started, in whatever session; returns when it is gone."""
        for environment in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if self._mark.encode() in environment.read_bytes():
                    os.kill(int(environment.parent.name), signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        self.kill()
        os.close(self._questions)
        self._stdout.close()


def _paths(pid: int, number: int, values: list[int]) -> Iterator[str]:
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for path_at, folder_at in _PATHS_OF[number]:
            memory.seek(values[path_at])
            text = memory.read(4096).split(b"\0")[0].decode(errors="replace")
            folder = None if folder_at is None else values[folder_at] & 0xFFFFFFFF
            base = "cwd" if folder in (None, _CURRENT_FOLDER) else f"fd/{folder}"
            yield os.path.join(os.readlink(f"/proc/{pid}/{base}"), text)


if __name__ == "__main__":
    _stand_still_and_become(sys.argv[1:])
