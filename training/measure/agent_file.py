"""The agent as jobs get it: one file, made by the program that makes it for them."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


@cache
def agent_file() -> Path:
    """Made once a process; gone with it."""
    node = ROOT / "node_modules" / ".bin" / "node"
    if not node.exists():
        raise FileNotFoundError(f"{node} is not there: run `npm run setup` once")
    folder = Path(tempfile.mkdtemp(prefix="tidewheel-agent-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = folder / "tidewheel.pyz"
    command = [str(node), str(ROOT / "cli" / "pack-agent.ts"), str(file)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return file
