"""Where the agent's own files are, and how it starts one of them as a process."""

import signal
import subprocess
import sys
from pathlib import Path

AGENT = Path(__file__).resolve().parent.parent
"""The zip that the job brought, or the folder that the zip is made of: Python runs either.

The hooks lie beside it, as zips or folders, too.
"""
FOR_SCRIPTS = AGENT / "for_scripts"
"""On PYTHONPATH for every script, so that `import tidewheel` works, from a zip too."""

_HOOKS_ARE_IN = "{}.pyz" if AGENT.is_file() else "{}"
AUTOMATIC = AGENT.with_name(_HOOKS_ARE_IN.format("automatic"))
"""On PYTHONPATH where the pipeline declares `training.checkpoint: automatic`."""
INSTRUMENT = AGENT.with_name(_HOOKS_ARE_IN.format("instrument"))
"""On PYTHONPATH unless the pipeline declares `tuning.training.instrument: false`."""


def program(name: str) -> list[str]:
    """The command line of a module in strategies/programs/; its arguments follow."""
    return [sys.executable, "-u", str(AGENT), "--run", name]


SERVICE_VARIABLE = "TIDEWHEEL_SERVICE"
"""Set for programs that the script needs for saving: parameter servers, Ray's daemons."""
STACK_SIGNAL = 55
"""A signal of real time: scripts and their libraries use those that have names."""


def shell_code(code: int) -> int:
    """128 + n for signal n."""
    return 128 - code if code < 0 else code


OWN_CHILDREN: set[int] = set()
"""Children of this process that belong to no script."""


def start_own(*arguments: str, stdout: int, stderr: int | None = None) -> subprocess.Popen[bytes]:
    """A process of the agent's own code that reads from the agent and outlives its signals."""
    process = subprocess.Popen(
        [sys.executable, "-S", "-E", str(AGENT), *arguments],
        stdin=subprocess.PIPE,
        start_new_session=True,
        env={},
        stdout=stdout,
        stderr=stderr,
    )
    OWN_CHILDREN.add(process.pid)
    return process


def ignore_signals() -> None:
    """In such a process: it ends with its input, and not with the agent's group."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
