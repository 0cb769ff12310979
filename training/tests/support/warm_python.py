"""A Python that has imported heavy packages and forks a process for each script.

Trackers take seconds of CPU to import, which a campaign of a thousand starts need not pay each
time. The agent and W&B's process are started as always; of the script only the imports are shared.
A forked process installs what `sitecustomize` would (for_scripts/sitecustomize.py).
"""

from __future__ import annotations

import contextlib
import os
import runpy
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

_PID_FILE = "script-pid"
# The script that the agent starts: it hands over its environment, its folder and its outputs.
_STUB = """
import json, os, socket, sys
line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
line.connect({socket!r})
message = json.dumps([dict(os.environ), os.getcwd(), sys.argv, {script!r}]).encode()
socket.send_fds(line, [len(message).to_bytes(4, "little")], [1, 2])
line.sendall(message)
code = line.recv(4)
sys.exit(int.from_bytes(code, "little") if code else 1)
"""


class WarmPython:
    """`stub` is a script's text that runs the file `script` in a forked process."""

    def __init__(self, server: subprocess.Popen[bytes], socket_path: Path) -> None:
        self._server, self._socket = server, socket_path

    def stub(self, script: Path) -> str:
        return _STUB.format(socket=str(self._socket), script=str(script))


def script_pid(base: Path) -> int | None:
    """The forked process of the host's script, which has another environment in /proc."""
    try:
        return int((base / _PID_FILE).read_text())
    except (OSError, ValueError):
        return None


@contextlib.contextmanager
def warm_python(python: Path, modules: Sequence[str], folder: Path) -> Iterator[WarmPython]:
    """`folder`: for the socket; its path must be short."""
    path = folder / "python.sock"
    command = [str(python), str(Path(__file__)), str(path), *modules]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None and server.stdout.readline() == b"ready\n"
            yield WarmPython(server, path)
        finally:
            server.terminate()


def _serve(path: str, modules: Sequence[str]) -> None:
    for module in modules:
        __import__(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen()
    print("ready", flush=True)
    while True:
        line, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _run(line)
        line.close()


def _run(line: socket.socket) -> None:
    """In a process between server and script, which tells the stub how the script ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    head, outputs, _, _ = socket.recv_fds(line, 4, 2)
    message = b""
    while len(message) < int.from_bytes(head, "little"):
        message += line.recv(65536)
    child = os.fork()
    if child == 0:
        os._exit(_script(message, outputs))
    for each in outputs:
        os.close(each)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(OSError):
        line.sendall((os.waitstatus_to_exitcode(status) & 0xFF).to_bytes(4, "little"))
    os._exit(0)


def _script(message: bytes, outputs: Sequence[int]) -> int:
    import json

    environment, folder, argv, script = json.loads(message)
    os.setsid()
    for target, source in enumerate(outputs, 1):
        os.dup2(source, target)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    Path(environment["SAGEMAKER_BASE_DIR"], _PID_FILE).write_text(str(os.getpid()))
    sys.argv = argv
    sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
    code = 0
    try:
        if environment.get("TIDEWHEEL_WANDB_ROWS") and "wandb" in sys.modules:
            from tidewheel._wandb_rows import keep_rows_of

            keep_rows_of(sys.modules["wandb"])
        runpy.run_path(script, run_name="__main__")
        import atexit

        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    _serve(sys.argv[1], sys.argv[2:])
