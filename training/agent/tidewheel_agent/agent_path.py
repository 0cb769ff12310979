"""Where the agent lies, and how it starts what is a part of it as a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path

AGENT = Path(__file__).resolve().parent.parent
"""The zip that the job brought, or the folder that it is made of: Python runs either."""
FOR_SCRIPTS = AGENT / "for_scripts"
"""On the path of every script, so that `import tidewheel` works; Python imports from zips too."""


def program(name: str) -> list[str]:
    """The command line of one of the modules of this package, for arguments to follow."""
    return [sys.executable, "-u", str(AGENT), "--run", name]
