"""A child program under our care: its output, its processes, its end."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..log import write_line
from .process_tree import TOKEN_VARIABLE, Process, kill_all, listeners, script_processes, send

_LONGEST_LINE = 64 * 1024


class Script:
    """Starts `argv` (never a shell) in a session of its own and passes its output through.

    `on_line` sees every line; it runs on the reading thread. With `has_launcher` the started
    process is a launcher such as torchrun, which is never signalled itself. With `owns_children`
    every child of this process is the script's, adopted orphans among them, but for those that
    `leave_alone` names.
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
        self._has_launcher = has_launcher
        self._on_line = on_line
        self._show = show
        self._heard: set[int] = set()
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
        self._apart: set[int] = set()
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
                self._take(line)
        if rest:
            self._take(rest)

    def _take(self, line: bytes) -> None:
        shown = self._show(line)
        if shown is not None and shown.strip():
            write_line(shown)
        self._on_line(line.decode("utf-8", "replace"))

    def poll(self) -> int | None:
        """The exit code as a shell tells it (128 + n for signal n), or None while running."""
        code = self._process.poll()
        return code if code is None else (128 - code if code < 0 else code)

    def wait(self, seconds: float) -> int | None:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        return self.poll()

    def drain(self, seconds: float = 2.0) -> None:
        """Lets the last lines arrive; processes that were left behind may hold the pipe open."""
        self._reader.join(seconds)

    def leave_alone(self, pid: int) -> None:
        """A child of this process that is not the script's."""
        self._apart.add(pid)

    def processes(self) -> list[Process]:
        """Everything that runs for the script now."""
        return script_processes(self.token, self._roots, self._apart)

    def forward_sigterm(self) -> list[int]:
        """SIGTERM to each process that saves on it, once each; to be called again and again,
        since a script may install its handler late. Returns whom it reached this time."""
        launcher = self.pid if self._has_launcher else None
        targets = listeners(self.processes(), launcher)
        reached = send([pid for pid in targets if pid not in self._heard], signal.SIGTERM)
        self._heard.update(reached)
        return reached

    @property
    def was_heard(self) -> bool:
        return bool(self._heard)

    def kill(self, notice_seconds: float = 0.0) -> None:
        """Ends every process of the script; with a notice, SIGTERM to all comes first."""
        if notice_seconds > 0:
            send([p.pid for p in self.processes()], signal.SIGTERM)
            deadline = time.monotonic() + notice_seconds
            while time.monotonic() < deadline and self.processes():
                time.sleep(0.1)
        kill_all(self.token, self._roots, self._apart)
        self.wait(5)
