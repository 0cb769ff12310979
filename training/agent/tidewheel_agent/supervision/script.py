"""A child program of the agent: its output, its processes, its end."""

import os
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..agent_path import shell_code
from ..log import write_line
from .leftovers import Leftovers
from .process_tree import TOKEN_VARIABLE, Process, kill_all, script_processes, send, sigterm_targets

_LONGEST_LINE = 64 * 1024


class Script:
    """Starts `argv` (never a shell) in a session of its own and passes its output through.

    - `on_line` gets every line, on the reading thread.
    - `has_launcher`: the started process is a launcher such as torchrun, which is never signalled.
    - `owns_children`: every child of this process belongs to the script, adopted orphans too,
      except those that `leave_alone` names.
    - `show` turns a line of output into what is printed; None prints nothing.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str],
        directory: Path,
        on_line: Callable[[str], None],
        has_launcher: bool = False,
        owns_children: bool = False,
        show: Callable[[bytes], bytes | None] = lambda line: line,
    ) -> None:
        self.token = uuid.uuid4().hex
        self.lines = 0
        """How many lines the program has printed."""
        self._has_launcher = has_launcher
        self._on_line = on_line
        self._show = show
        self._signalled: set[int] = set()
        self.leftovers = Leftovers()
        self._process = subprocess.Popen(
            list(argv),
            env={**environment, TOKEN_VARIABLE: self.token},
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.pid = self._process.pid
        self._excluded: set[int] = set()
        self._roots = (self.pid, os.getpid()) if owns_children else (self.pid,)
        self._reader = threading.Thread(target=self._read, daemon=True, name="script-output")
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        rest = b""
        while True:
            try:
                chunk = os.read(descriptor, 65536)
            except OSError:
                break
            if not chunk:
                break
            # Progress bars end their lines with a carriage return.
            *lines, rest = (rest + chunk).replace(b"\r", b"\n").split(b"\n")
            if len(rest) > _LONGEST_LINE:
                lines, rest = [*lines, rest], b""
            for line in lines:
                self._pass_on(line)
        if rest:
            self._pass_on(rest)

    def _pass_on(self, line: bytes) -> None:
        self.lines += 1
        shown = self._show(line)
        if shown is not None and shown.strip():
            write_line(shown)
        self._on_line(line.decode("utf-8", "replace"))

    def poll(self) -> int | None:
        """The exit code as a shell shows it (128 + n for signal n); None while the program runs."""
        code = self._process.poll()
        return None if code is None else shell_code(code)

    def wait(self, seconds: float) -> int | None:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        return self.poll()

    def drain(self, seconds: float = 2.0) -> None:
        """Waits for the last lines; a process that was left behind may hold the pipe open."""
        self._reader.join(seconds)

    def leave_alone(self, pid: int) -> None:
        """Names a child of this process that does not belong to the script."""
        self._excluded.add(pid)

    def processes(self) -> list[Process]:
        """All processes that run for the script now."""
        return script_processes(self.token, self._roots, self._excluded)

    def note_names(self) -> None:
        """Now and then: what it leaves behind, should its processes end by themselves."""
        if self.leftovers.is_due():
            self.leftovers.look(process.pid for process in self.processes())

    def forward_sigterm(self) -> list[int]:
        """Sends SIGTERM once to each process that saves on it; returns the processes it reached.

        A script may install its handler late, so the caller calls this again and again.
        """
        launcher = self.pid if self._has_launcher else None
        targets = sigterm_targets(self.processes(), launcher)
        reached = send([pid for pid in targets if pid not in self._signalled], signal.SIGTERM)
        self._signalled.update(reached)
        return reached

    @property
    def was_signalled(self) -> bool:
        """Whether SIGTERM has reached a process that handles it."""
        return bool(self._signalled)

    def kill(self, notice_seconds: float = 0.0) -> None:
        """Kills every process of the script; with a notice, all get SIGTERM so long before."""
        if notice_seconds > 0:
            send([p.pid for p in self.processes()], signal.SIGTERM)
            deadline = time.monotonic() + notice_seconds
            while time.monotonic() < deadline and self.processes():
                time.sleep(0.1)
        kill_all(self.token, self._roots, self.leftovers, self._excluded)
        self.wait(5)
