"""Agents whose scripts get automatic checkpoints, and what they leave on a host."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from hosts import TRAINING
from sagemaker_host import make_host

SCRIPTS = TRAINING / "tests" / "automatic" / "scripts"


def automatic_host(base: Path, program: str, strategy: str = "single", **more: Any) -> Path:  # noqa: ANN401
    """`more`: as of `make_host`; hyperparameters beside those of the declaration."""
    declared = {
        "sagemaker_program": program,
        "tidewheel_strategy": strategy,
        "tidewheel_script": json.dumps({"checkpoint": "automatic"}),
        **more.pop("hyperparameters", {}),
    }
    return make_host(base, source=SCRIPTS, hyperparameters=declared, **more)


def note(base: Path) -> dict[str, Any]:
    path = base / "checkpoints" / "tidewheel-automatic.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def steps(base: Path) -> list[str]:
    return sorted(path.name for path in (base / "checkpoints").glob("step-*"))


def second_processes(base: Path, variable: str = "") -> list[int]:
    """Those of a trial that have the variable: the agent tells them which folder belongs to the
    training on the host of `base`."""
    needle = f"TIDEWHEEL_AUTOMATIC_PROTECTED={base}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                variables = (entry / "environ").read_bytes().split(b"\0")
                is_one = any(each.startswith(variable.encode()) for each in variables)
                if is_one and any(each.split(b":")[0] == needle for each in variables):
                    found.append(int(entry.name))
    return found
