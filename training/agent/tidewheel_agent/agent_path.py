"""Where the agent's own files are, and how it starts one of them as a process."""

from __future__ import annotations

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
