"""What this host computes on."""

from __future__ import annotations

import shutil
import subprocess

from .settings import Settings


def gpu_count(settings: Settings) -> int:
    """As told, else as many as nvidia-smi lists, else none."""
    if settings.gpus is not None:
        return settings.gpus
    program = shutil.which("nvidia-smi")
    if program is None:
        return 0
    try:
        listed = subprocess.run(
            [program, "--list-gpus"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return sum(line.startswith("GPU ") for line in listed.stdout.splitlines())
