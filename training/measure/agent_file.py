"""The agent as one file, packed as for real jobs."""

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
    """Packs the agent once per process, and removes the file at its end.

    On a machine without the project's Node, such as a host with a GPU, it is the agent's folder.
    """
    node = ROOT / "node_modules" / ".bin" / "node"
    if not (ROOT / "package.json").exists():
        return ROOT / "training" / "agent"
    if not node.exists():
        raise FileNotFoundError(f"{node} is not there: run `npm run setup` once")
    folder = Path(tempfile.mkdtemp(prefix="tidewheel-agent-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = folder / "tidewheel.pyz"
    command = [str(node), str(ROOT / "cli" / "pack-agent.ts"), str(file)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return file
