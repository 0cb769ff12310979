"""One host's agent with a small script, and what such scripts need."""

from __future__ import annotations

import zipfile
from pathlib import Path

from cluster import running

SAVE = """
import json, os, pathlib
def save(step, total=100):
    folder = pathlib.Path(os.environ["TIDEWHEEL_CHECKPOINT_DIR"], f"step-{step:08d}")
    folder.mkdir()
    (folder / "state").write_text("saved")
    marker = {"step": step, "totalSteps": total, "files": {"state": {"bytes": 5}}}
    (folder / "COMPLETE.json").write_text(json.dumps(marker))
"""


def run(base: Path, **environment: str) -> tuple[int, str]:
    with running([base], **environment) as cluster:
        return cluster.wait(30)[0], cluster.log()


def wheel(folder: Path) -> Path:
    """A tiny package that needs no index."""
    path = folder / "tidetest-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tidetest.py", "VALUE = 41\n")
        info = "tidetest-1.0.dist-info"
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: tidetest\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return path
