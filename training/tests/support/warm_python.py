"""A Python that has imported heavy packages and forks a process for each script.

PyTorch takes two seconds of CPU to import, and trackers more: tests whose promise is not about the
start need not pay that each time. A forked process begins as a new Python would: its environment,
path and seeds are its own, it runs `sitecustomize`, whose hooks see the import of a package that
is there already, and it waits for its threads at its end.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import NoReturn

_PID_FILE = "script-pid"
# The script that the agent starts: it hands over its environment, its folder and its outputs.
_STUB = """
import json, os, socket, sys
line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
line.connect({socket!r})
arguments = [{script!r}, *sys.argv[1:]]
message = json.dumps([dict(os.environ), os.getcwd(), arguments]).encode()
socket.send_fds(line, [len(message).to_bytes(4, "little")], [1, 2])
line.sendall(message)
code = line.recv(4)
sys.exit(int.from_bytes(code, "little", signed=True) if code else 1)
"""
# The hooks take frames of files that begin with this for Python's own.
_SERVER = "exec(compile(open({file!r}).read(), '<frozen warm python>', 'exec'), {{'__name__': ''}})"
_HOOKED = ("torch", "wandb")
"""Packages for whose import a `sitecustomize` waits."""
REPLAYS = ("torch._dynamo", "torch.distributed.fsdp", "torch._subclasses.fake_tensor")
"""What the hooks of automatic checkpoints import."""


class WarmPython:
    def __init__(self, socket_path: Path) -> None:
        self._socket = socket_path

    def stub(self, script: Path) -> str:
        """A script's text that runs the file `script` in a forked process."""
        return _STUB.format(socket=str(self._socket), script=str(script))

    def run(
        self, *arguments: str, cwd: Path | None = None, env: Mapping[str, str], timeout: float = 120
    ) -> subprocess.CompletedProcess[str]:
        """As `subprocess.run` of a Python with these arguments: a script, or `-c` and a text."""
        message = json.dumps([dict(env), str(cwd or os.getcwd()), arguments]).encode()
        with (
            tempfile.TemporaryFile("w+") as out,
            tempfile.TemporaryFile("w+") as err,
            socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line,
        ):
            line.settimeout(timeout)
            line.connect(str(self._socket))
            size = len(message).to_bytes(4, "little")
            socket.send_fds(line, [size], [out.fileno(), err.fileno()])
            line.sendall(message)
            code = line.recv(4)
            assert code, "the server of forked processes is gone"
            out.seek(0)
            err.seek(0)
            number = int.from_bytes(code, "little", signed=True)
            return subprocess.CompletedProcess(arguments, number, out.read(), err.read())


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
    program = _SERVER.format(file=str(Path(__file__).resolve()))
    with subprocess.Popen(
        [str(python), "-c", program, str(path), *modules],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as server:
        try:
            assert server.stdout is not None and server.stdout.readline() == b"ready\n"
            yield WarmPython(path)
        finally:
            server.terminate()


@cache
def warm_torch(*more: str) -> WarmPython:
    """One for the whole session, with PyTorch and these modules."""
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    modules = ("torch", "numpy.random", *more)
    return stack.enter_context(warm_python(Path(sys.executable), modules, folder))


def _serve(path: str, modules: Sequence[str]) -> Sequence[str]:
    """Returns in each forked process: the arguments of the program that it is to run."""
    for module in modules:
        importlib.import_module(module)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen()
    print("ready", flush=True)
    # Standard input ends with the tests, however they end.
    while listener.fileno() in select.select([listener.fileno(), 0], [], [])[0]:
        line, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            return _begin(line)
        line.close()
        # So that their CPU time counts as this process's, for a measurement of the tests.
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    sys.exit()


def _begin(line: socket.socket) -> Sequence[str]:
    """The process between server and program stays and says how the program ended."""
    head, outputs, _, _ = socket.recv_fds(line, 4, 2)
    message = b""
    while len(message) < int.from_bytes(head, "little"):
        message += line.recv(65536)
    program = os.fork()
    if program != 0:
        for each in outputs:
            os.close(each)
        # Who asked for the program may give up.
        if line.fileno() in select.select([os.pidfd_open(program), line.fileno()], [], [])[0]:
            os.killpg(program, signal.SIGKILL)
        _, status = os.waitpid(program, 0)
        with contextlib.suppress(OSError):
            line.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "little", signed=True))
        os._exit(0)
    line.close()
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for target, source in enumerate(outputs, 1):
        os.dup2(source, target)
        os.close(source)
    environment, folder, arguments = json.loads(message)
    _become_new(environment, folder, arguments)
    return list(arguments)


def _become_new(environment: Mapping[str, str], folder: str, arguments: Sequence[str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    tempfile.tempdir = None
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    base = environment.get("SAGEMAKER_BASE_DIR")
    if base:
        Path(base, _PID_FILE).write_text(str(os.getpid()))
    own = "" if arguments[0] == "-c" else os.path.dirname(os.path.abspath(arguments[0]))
    path = [each for each in environment.get("PYTHONPATH", "").split(os.pathsep) if each]
    sys.argv = list(arguments[:1] if own else ["-c"]) + list(arguments[1 if own else 2 :])
    sys.path[:1] = [own, *path]
    imported = _Imported()
    sys.modules.pop("sitecustomize", None)
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module("sitecustomize")
    imported.import_again()


class _Imported(importlib.abc.Loader):
    """Gives a module that is there already to a hook that waits for its import."""

    def __init__(self) -> None:
        self._modules = {name: sys.modules.pop(name) for name in _HOOKED if name in sys.modules}
        self._specs = {name: module.__spec__ for name, module in self._modules.items()}
        find = PathFinder.find_spec

        def find_spec(
            name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
        ) -> ModuleSpec | None:
            return ModuleSpec(name, self) if name in self._modules else find(name, path, target)

        PathFinder.find_spec = find_spec  # type: ignore[method-assign,assignment]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._specs[module.__name__]

    def import_again(self) -> None:
        for name in self._modules:
            importlib.import_module(name)


def _run(arguments: Sequence[str]) -> NoReturn:
    """Python's own end frees each object, which takes a second of CPU after these imports."""
    code: object = 0
    try:
        _run_main(arguments)
    except SystemExit as left:
        code = left.code or 0
    except BaseException as error:
        sys.last_value = error
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    if not isinstance(code, int):
        print(code, file=sys.stderr)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    # What is freed there may have files to close.
    vars(sys.modules["__main__"]).clear()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code & 0xFF if isinstance(code, int) else 1)


def _run_main(arguments: Sequence[str]) -> None:
    main = sys.modules["__main__"] = ModuleType("__main__")
    text = arguments[1] if arguments[0] == "-c" else Path(arguments[0]).read_text()
    if arguments[0] != "-c":
        main.__file__ = arguments[0]
    name = "<string>" if arguments[0] == "-c" else arguments[0]
    exec(compile(text, name, "exec", dont_inherit=True), vars(main))


if __name__ == "":
    _run(_serve(sys.argv[1], sys.argv[2:]))
