"""The agent's settings: `TIDEWHEEL_*` environment variables that the service or the host sets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from ..declared_pattern import DeclaredPattern

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


class ConfigurationError(Exception):
    """The job cannot start as it is described. `problems` holds all of them with their remedies."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class Settings:
    """Every default is right on SageMaker."""

    base: Path = Path("/opt/ml")
    """SAGEMAKER_BASE_DIR: stands in for /opt/ml in every path."""
    master_port: int = 7777
    """TIDEWHEEL_MASTER_PORT: the strategy's first port; jobs on one machine need different ones."""
    gang_port: int = 7778
    """TIDEWHEEL_GANG_PORT: the port of the leader's agent; by default the master port + 1."""
    silence_seconds: float = 60.0
    """TIDEWHEEL_SILENCE_SECONDS: a host that sends nothing for so long counts as lost."""
    grace_seconds: float = 110.0
    """TIDEWHEEL_GRACE_SECONDS: from SIGTERM to the end; SageMaker kills after 120."""
    spot: bool = False
    """TIDEWHEEL_SPOT=1: capacity may be taken away, so the job needs a checkpoint folder."""
    needs_model: bool = False
    """TIDEWHEEL_MODEL=required: a script that ends well and leaves no model has failed."""
    cpus: int | None = None
    """TIDEWHEEL_CPUS: this host's CPUs, where several hosts share one machine."""
    gpus: int | None = None
    """TIDEWHEEL_GPUS: this host's GPUs; by default those that nvidia-smi lists."""
    install_seconds: float = 900.0
    """TIDEWHEEL_INSTALL_SECONDS: limit for installing the source's requirements, with retries."""
    peers_seconds: float = 600.0
    """TIDEWHEEL_PEERS_SECONDS: limit for reaching the other hosts."""
    download_seconds: float | None = None
    """TIDEWHEEL_DOWNLOAD_SECONDS: how long the data took to come, where the host fetched it."""
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

    def number(name: str, default: float, least: float, most: float) -> float:
        text = environment.get(name, "")
        if text == "":
            return default
        if not re.fullmatch(r"\d{1,9}(\.\d{1,6})?", text) or not least <= float(text) <= most:
            problems.append(f"{name}={text!r}: give a number from {least:g} to {most:g}")
            return default
        return float(text)

    def count(name: str, least: int, most: int) -> int | None:
        if environment.get(name, "") == "":
            return None
        return int(number(name, least, least, most))

    master_port = int(number("TIDEWHEEL_MASTER_PORT", 7777, 1, 65_534))
    settings = Settings(
        base=Path(environment.get("SAGEMAKER_BASE_DIR") or "/opt/ml"),
        master_port=master_port,
        gang_port=int(number("TIDEWHEEL_GANG_PORT", master_port + 1, 1, 65_535)),
        silence_seconds=number("TIDEWHEEL_SILENCE_SECONDS", 60, 1, 86_400),
        grace_seconds=number("TIDEWHEEL_GRACE_SECONDS", 110, 0, 86_400),
        spot=environment.get("TIDEWHEEL_SPOT", "") in ("1", "true"),
        needs_model=environment.get("TIDEWHEEL_MODEL", "") == "required",
        cpus=count("TIDEWHEEL_CPUS", 1, 4096),
        gpus=count("TIDEWHEEL_GPUS", 0, 64),
        install_seconds=number("TIDEWHEEL_INSTALL_SECONDS", 900, 1, 86_400),
        peers_seconds=number("TIDEWHEEL_PEERS_SECONDS", 600, 0, 86_400),
        download_seconds=number("TIDEWHEEL_DOWNLOAD_SECONDS", 0, 0, 1e9)
        if environment.get("TIDEWHEEL_DOWNLOAD_SECONDS")
        else None,
        host_clock=Path(clock) if (clock := environment.get("TIDEWHEEL_HOST_CLOCK")) else None,
    )
    if problems:
        raise ConfigurationError(problems)
    return settings
