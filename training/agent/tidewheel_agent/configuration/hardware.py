"""The CPUs and GPUs of this host."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass

from .settings import Settings


@dataclass(frozen=True)
class Hardware:
    cpus: int
    gpus: int


def find_hardware(settings: Settings) -> Hardware:
    return Hardware(_cpu_count(settings), _gpu_count(settings))


def _cpu_count(settings: Settings) -> int:
    """The CPUs that this process may use: the container's share, not the machine's."""
    if settings.cpus is not None:
        return settings.cpus
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def _gpu_count(settings: Settings) -> int:
    """The configured number, else the GPUs that nvidia-smi lists, else 0."""
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
