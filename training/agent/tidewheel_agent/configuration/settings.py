"""The agent's settings, and the CPUs and GPUs of this host."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ..declared_pattern import DeclaredPattern

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


class ConfigurationError(Exception):
    """The job cannot start as it is described. `problems` holds all of them with their remedies."""

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = [*problems]


def _number(variable: str, default: float | None, least: float, most: float) -> Any:  # noqa: ANN401
    """A setting that `variable` changes."""
    return field(default=default, metadata={"variable": variable, "least": least, "most": most})


@dataclass(frozen=True)
class Settings:
    """Every default is right on SageMaker."""

    base: Path = Path("/opt/ml")
    """SAGEMAKER_BASE_DIR: stands in for /opt/ml in every path."""
    master_port: int = _number("TIDEWHEEL_MASTER_PORT", 7777, 1, 65_534)
    """The strategy's first port; jobs on one machine need different ones."""
    gang_port: int = _number("TIDEWHEEL_GANG_PORT", 7778, 1, 65_535)
    """The port of the leader's agent; by default the master port + 1."""
    silence_seconds: float = _number("TIDEWHEEL_SILENCE_SECONDS", 60.0, 1, 86_400)
    """a host that sends nothing for so long counts as lost."""
    hang_seconds: float | None = _number("TIDEWHEEL_HANG_SECONDS", None, 1, 86_400)
    """A script that neither computes nor prints for so long is ended, and the run resumes; by
    default it is only reported."""
    grace_seconds: float = _number("TIDEWHEEL_GRACE_SECONDS", 110.0, 0, 86_400)
    """From SIGTERM to the end; SageMaker kills after 120."""
    spot: bool = False
    """TIDEWHEEL_SPOT=1: capacity may be taken away, so the job needs a checkpoint folder."""
    needs_model: bool = False
    """TIDEWHEEL_MODEL=required: a script that ends well and leaves no model has failed."""
    cpus: int | None = _number("TIDEWHEEL_CPUS", None, 1, 4096)
    """This host's CPUs, where several hosts share one machine."""
    gpus: int | None = _number("TIDEWHEEL_GPUS", None, 0, 64)
    """This host's GPUs; by default those that nvidia-smi lists."""
    install_seconds: float = _number("TIDEWHEEL_INSTALL_SECONDS", 900.0, 1, 86_400)
    """Limit for installing the source's requirements, with retries."""
    peers_seconds: float = _number("TIDEWHEEL_PEERS_SECONDS", 600.0, 0, 86_400)
    """Limit for reaching the other hosts."""
    download_seconds: float | None = _number("TIDEWHEEL_DOWNLOAD_SECONDS", None, 0, 1e9)
    """How long the data took to come, where the host fetched it."""
    host_clock: Path | None = None
    """TIDEWHEEL_HOST_CLOCK: tells the host's own time, where several hosts share one machine."""


@dataclass(frozen=True)
class CheckpointRules:
    """What the pipeline declares of its checkpoints (`training.checkpoint`), over every guess."""

    folder: Path
    """Where they are, as an absolute path: the checkpoint folder or one below it."""
    automatic: bool = False
    """The agent itself saves and restores; the other fields have their defaults then."""
    pattern: str | None = None
    """A glob relative to `folder`: each file or folder that it finds is one checkpoint."""
    step: DeclaredPattern | None = None
    """Its one group holds the step, searched for in the path relative to `folder`."""
    step_by: Literal["name", "time"] = "name"
    """Without `step`: the last number in that path, or none, and the newest file counts."""
    keep: int | None = None
    """How many of `pattern` are kept, 2 or more; all if absent."""


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Raises ConfigurationError with every bad value."""
    problems: list[str] = []
    numbers: dict[str, Any] = {}
    for each in fields(Settings):
        text = environment.get(each.metadata.get("variable", ""), "")
        if text == "":
            continue
        name, least, most = (each.metadata[key] for key in ("variable", "least", "most"))
        if not re.fullmatch(r"\d{1,9}(\.\d{1,6})?", text) or not least <= float(text) <= most:
            problems.append(f"{name}={text!r}: give a number from {least:g} to {most:g}")
        else:
            numbers[each.name] = float(text) if "float" in str(each.type) else int(float(text))
    if problems:
        raise ConfigurationError(*problems)
    if "master_port" in numbers:
        numbers.setdefault("gang_port", numbers["master_port"] + 1)
    clock = environment.get("TIDEWHEEL_HOST_CLOCK")
    return Settings(
        base=Path(environment.get("SAGEMAKER_BASE_DIR") or "/opt/ml"),
        spot=environment.get("TIDEWHEEL_SPOT", "") in ("1", "true"),
        needs_model=environment.get("TIDEWHEEL_MODEL", "") == "required",
        host_clock=Path(clock) if clock else None,
        **numbers,
    )


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
