"""Python imports this at its start, since the agent puts the folder first on PYTHONPATH.

It notes which checkpoints are read, and when the program has ended well, and shows its stacks when
the agent asks. It installs the hooks once the program imports what they hook: those of automatic
checkpoints, those that measure, and those that keep W&B's newest rows. The next `sitecustomize` on
the path, which this one hides, runs as before.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import functools
import os
import sys
import threading
import time
from _sitebuiltins import Quitter
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    # Importing it takes 20 ms, and its classes would add nothing here.
    from importlib.abc import Loader

_HERE = os.path.dirname(os.path.abspath(__file__))


class _AfterImports:
    """Calls what waits for a module once that has been imported, in the order of waiting."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[Callable[[ModuleType], object]]] = {}

    def call(self, name: str, then: Callable[[ModuleType], object]) -> None:
        if not self.waiting:
            sys.meta_path.insert(0, self)
        self.waiting.setdefault(name, []).append(then)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self.waiting:
            return None
        for finder in [each for each in sys.meta_path if each is not self]:
            find = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find and find(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader, self)
                return spec
        return None


class _Loader:
    def __init__(self, loader: Loader, after: _AfterImports) -> None:
        self._loader, self._after = loader, after

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        assert spec is not None
        spec.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        # Not when it is found: a library may only ask whether there is such a module.
        for then in self._after.waiting.pop(module.__name__, []):
            then(module)
        if not self._after.waiting and self._after in sys.meta_path:
            sys.meta_path.remove(self._after)


def _hook(loses: str, install: Callable[[], object]) -> None:
    """The script comes first: where the hooks fail, it runs without them."""
    try:
        install()
    except Exception as error:
        print(f"tidewheel: {loses}: {error!r}", file=sys.stderr, flush=True)


def _save_automatically(_torch: ModuleType) -> None:
    def install() -> None:
        from tidewheel_automatic.hooks import start

        start()

    _hook("no automatic checkpoints", install)


def _keep_wandb_rows(wandb: ModuleType) -> None:
    def install() -> None:
        from tidewheel._wandb_rows import keep_rows_of

        keep_rows_of(wandb)

    _hook("W&B's last rows may be lost", install)


def _measure() -> None:
    from tidewheel_instrument.frameworks import hooks

    for name, install in hooks().items():
        _after_imports.call(name, install)


_READS = "reads"
_MOST_READS = 100


def _note_reads(folder: str, checkpoints: str) -> None:
    """Appends the name of each file of the checkpoint folder that the script opens to read it. The
    agent tells by it from which checkpoint the script goes on (resumes/resume_proof.py)."""
    roots = {os.path.abspath(checkpoints) + os.sep, os.path.realpath(checkpoints) + os.sep}
    notes = os.open(os.path.join(folder, _READS), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    noted: set[str] = set()

    def follow(event: str, arguments: tuple[object, ...]) -> None:
        if event not in ("open", "sqlite3.connect") or len(noted) >= _MOST_READS:
            return
        path, flags = arguments[0], arguments[2] if event == "open" else os.O_RDWR
        if not isinstance(path, (str, bytes)) or not isinstance(flags, int):
            return
        whole = os.path.abspath(os.fsdecode(path))
        is_read = flags & (os.O_WRONLY | os.O_TRUNC) == 0 and whole.startswith(tuple(roots))
        if not is_read or whole in noted or not os.path.isfile(whole):
            return
        noted.add(whole)
        name = os.path.relpath(os.path.realpath(whole), os.path.realpath(checkpoints))
        os.write(notes, os.fsencode(f"{name}\n"))

    def guarded(event: str, arguments: tuple[object, ...]) -> None:
        with contextlib.suppress(Exception):  # The script comes first.
            follow(event, arguments)

    sys.addaudithook(guarded)


_PEERS_SECONDS = 60.0


def _note_end(folder: str) -> None:
    """Leaves a file named by this process once the program's own code has ended well.

    An error or a code other than 0 is no good end. That of `raise SystemExit(code)` is not seen:
    the file's name then ends in `.lost`, unless the program's text allows no other code than 0.
    Threads of PyTorch may abort the process in the interpreter's end that follows. The agent then
    knows that the work was done (lifecycle/watch.py). A rank of torchrun is named by its
    launcher, and waits for the others here: torchrun would kill them for the abort of this one.
    """
    process, rank = os.getpid(), os.environ.get("LOCAL_RANK")
    name = str(process) if rank is None else f"{os.getppid()}-{rank}"
    ranks = 1 if rank is None else int(os.environ.get("LOCAL_WORLD_SIZE") or 1)
    codes = _exit_codes()

    def ended() -> None:
        # A forked process is not the program, and an error has been shown before.
        if os.getpid() != process or hasattr(sys, "last_value") or not _is_good(codes):
            return
        try:
            lost = ".lost" if _is_lost(codes) else ""
            open(os.path.join(folder, name + lost), "w").close()
            deadline = time.monotonic() + _PEERS_SECONDS
            mine = f"{name.partition('-')[0]}-"
            while ranks > 1 and time.monotonic() < deadline:
                if sum(each.startswith(mine) for each in os.listdir(folder)) >= ranks:
                    break
                time.sleep(0.05)
        except OSError:
            pass

    # What is registered first runs last.
    atexit.register(ended)


def _exit_codes() -> list[object]:
    """A list that gets the code of each `sys.exit`, `exit` and `quit` of the main thread."""
    codes: list[object] = []
    leave, leave_shell = sys.exit, Quitter.__call__

    def note(code: object) -> None:
        # In another thread it ends the thread, not the program.
        if threading.current_thread() is threading.main_thread():
            codes.append(code)

    @functools.wraps(leave)
    def noted_exit(code: object = None, /) -> NoReturn:
        note(code)
        leave(code)  # type: ignore[arg-type] # Whatever the script gave.

    @functools.wraps(leave_shell)
    def noted_shell_exit(self: Quitter, code: object = None) -> NoReturn:
        note(code)
        leave_shell(self, code)  # type: ignore[arg-type] # Likewise.

    sys.exit = noted_exit
    Quitter.__call__ = noted_shell_exit  # type: ignore[method-assign]
    return codes


def _is_lost(codes: list[object]) -> bool:
    """Whether SystemExit ended the program, with a code that went through no known function."""
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    # Python deletes the name when a script has run to its end. `python -m` keeps it.
    if codes or file is None or getattr(main, "__spec__", None) is not None:
        return False
    from tidewheel._raised_exits import are_good

    return not are_good(file)


def _is_good(codes: list[object]) -> bool:
    # The last counts: a program may catch SystemExit and go on.
    last = codes[-1] if codes else 0
    return last is None or (isinstance(last, int) and last == 0)


def _run_hidden_one() -> None:
    # What comes before this folder hides nothing; this folder may be there twice.
    entries = [os.path.abspath(entry or ".") for entry in sys.path]
    first = entries.index(_HERE) + 1 if _HERE in entries else 0
    behind = [entry for entry in entries[first:] if entry != _HERE]
    spec = PathFinder.find_spec("sitecustomize", behind)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


if os.environ.get("TIDEWHEEL_STACK_SIGNAL") and sys.stderr is not None:
    # Written by C code, so also in a call that does not return.
    number = int(os.environ["TIDEWHEEL_STACK_SIGNAL"])
    _hook("it shows no stack where it hangs", lambda: faulthandler.register(number))
if os.environ.get("TIDEWHEEL_ENDED_DIR"):
    _note_end(os.environ["TIDEWHEEL_ENDED_DIR"])

if os.environ.get("TIDEWHEEL_ENDED_DIR") and os.environ.get("TIDEWHEEL_CHECKPOINT_DIR"):
    _folders = os.environ["TIDEWHEEL_ENDED_DIR"], os.environ["TIDEWHEEL_CHECKPOINT_DIR"]
    _hook("what is read is not noted", functools.partial(_note_reads, *_folders))

_after_imports = _AfterImports()
# First: the hooks that measure count what a resumed script does, and not its replay.
if os.environ.get("TIDEWHEEL_AUTOMATIC_DIR"):
    _after_imports.call("torch", _save_automatically)
if os.environ.get("TIDEWHEEL_INSTRUMENT_DIR"):
    _hook("nothing is measured", _measure)
if os.environ.get("TIDEWHEEL_WANDB_ROWS"):
    _after_imports.call("wandb", _keep_wandb_rows)

_run_hidden_one()
