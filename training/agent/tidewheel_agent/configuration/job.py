"""The job as the platform describes it in `input/config`: read, decoded, checked."""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from .settings import ConfigurationError, Settings

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

STRATEGIES = (
    "single",
    "ddp",
    "ray",
    "mpi",
    "parameter-server",
    "multi-worker-mirrored",
    "data-service",
)

CLUSTERS = ("ray", "data-service")
"""Strategies that use every host of every group, for different things."""


@dataclass(frozen=True)
class Group:
    """One instance group of a heterogeneous job (a homogeneous job has exactly one)."""

    name: str
    instance_type: str
    hosts: tuple[str, ...]


@dataclass(frozen=True)
class Job:
    """One training job as seen from one of its hosts."""

    base: Path
    hosts: tuple[str, ...]
    current_host: str
    current_group: str
    current_instance_type: str
    groups: tuple[Group, ...]
    network_interface: str
    hyperparameters: dict[str, Json]
    """The user's: they reach the script."""
    control: dict[str, Json]
    """`sagemaker_*` and `tidewheel_*`: for the agent, withheld from the script's arguments."""
    channels: dict[str, dict[str, Json]]
    resource_config: dict[str, Json] = field(repr=False)
    checkpoint_dir: Path | None
    program: str
    strategy: str
    distribution_groups: tuple[str, ...]
    progress_pattern: re.Pattern[str] | None

    @property
    def distribution_hosts(self) -> tuple[str, ...]:
        """Hosts that train together; the first is the master, its agent reports the progress.

        Clusters (ray, data-service) are given all groups; the group that is named first leads.
        """
        order = [*self.distribution_groups]
        named = [g for g in self.groups if g.name in order]
        if self.strategy in CLUSTERS:
            named.sort(key=lambda group: order.index(group.name))
        return tuple(dict.fromkeys(host for group in named for host in group.hosts))

    @property
    def helper_hosts(self) -> tuple[str, ...]:
        """Hosts that serve those that train: of the groups that are not named to train, or, in
        a cluster, not named first."""
        training = self.training_hosts
        return tuple(host for host in self.hosts if host not in training)

    @property
    def training_hosts(self) -> tuple[str, ...]:
        """Hosts that compute the model."""
        if self.strategy not in CLUSTERS:
            return self.distribution_hosts
        first = next(g for g in self.groups if g.name == self.distribution_groups[0])
        return first.hosts

    @property
    def is_leader(self) -> bool:
        return self.current_host == self.distribution_hosts[0]

    @property
    def code_dir(self) -> Path:
        return self.base / "code"

    @property
    def code_channel(self) -> Path:
        return self.base / "input" / "data" / "code"

    @property
    def run_id(self) -> str:
        """Names the job to its own agents on other hosts; jobs on one machine must not mix."""
        for key in ("sagemaker_job_name", "tidewheel_run_id"):
            value = self.control.get(key)
            if isinstance(value, str) and value:
                return value + self._round
        return "local" + self._round

    @property
    def _round(self) -> str:
        """On EC2 a job may begin again with other hosts: agents of before are strangers then."""
        number = self.control.get("tidewheel_round")
        return f"#{number}" if isinstance(number, int) and number > 1 else ""


def decode_hyperparameter(text: str) -> Json:
    """SDKs send JSON; a raw string (console, other clients) stays the string it is."""
    try:
        value: Json = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return text
    # json reads 1e999 as infinity, which no one wrote.
    return text if isinstance(value, float) and not math.isfinite(value) else value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _read_object(path: Path, problems: list[str]) -> dict[str, Json]:
    if not path.exists():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        problems.append(f"{path}: cannot be read as JSON ({error})")
        return {}
    if not isinstance(value, dict):
        problems.append(f"{path}: expected an object, got {type(value).__name__}")
        return {}
    return value


def _text(value: Json, default: str) -> str:
    return value if isinstance(value, str) and value else default


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()


def _groups(resource: dict[str, Json], hosts: tuple[str, ...], kind: str) -> tuple[Group, ...]:
    listed = resource.get("instance_groups")
    groups = tuple(
        Group(
            _text(entry.get("instance_group_name"), "homogeneousCluster"),
            _text(entry.get("instance_type"), kind),
            _texts(entry.get("hosts")),
        )
        for entry in (listed if isinstance(listed, list) else [])
        if isinstance(entry, dict)
    )
    return groups or (Group("homogeneousCluster", kind, hosts),)


def _hyperparameters(path: Path, problems: list[str]) -> tuple[dict[str, Json], dict[str, Json]]:
    user: dict[str, Json] = {}
    control: dict[str, Json] = {}
    for key, raw in _read_object(path, problems).items():
        value = decode_hyperparameter(raw) if isinstance(raw, str) else raw
        if not _can_be_passed(key) or not _can_be_passed(value):
            problems.append(
                f"hyperparameter {key!r}: take out the NUL character or the lone surrogate, "
                "which no program can be given"
            )
        elif key.startswith(("sagemaker_", "tidewheel_")):
            control[key] = value
        else:
            user[key] = value
    return user, control


def _can_be_passed(value: Json) -> bool:
    """Whether the operating system takes it as an argument."""
    if isinstance(value, dict):
        return all(_can_be_passed(key) and _can_be_passed(item) for key, item in value.items())
    if isinstance(value, list):
        return all(_can_be_passed(item) for item in value)
    if not isinstance(value, str):
        return True
    try:
        return b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        return False


def _program(control: dict[str, Json], problems: list[str]) -> str:
    program = _text(control.get("sagemaker_program"), "")
    if program == "":
        problems.append("hyperparameter sagemaker_program is missing: name the script, train.py")
    elif not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_./-]*", program) or ".." in program.split("/"):
        problems.append(
            f"hyperparameter sagemaker_program={program!r}: "
            "give a path inside the source of letters, digits and ._-/"
        )
    return program


def _strategy(control: dict[str, Json], problems: list[str]) -> str:
    strategy = _text(control.get("tidewheel_strategy"), "")
    if strategy == "" and control.get("sagemaker_torch_distributed_enabled") is True:
        strategy = "ddp"
    strategy = strategy or "single"
    if strategy not in STRATEGIES:
        known = ", ".join(STRATEGIES)
        problems.append(f"hyperparameter tidewheel_strategy={strategy!r}: choose one of {known}")
    return strategy


def _progress_pattern(control: dict[str, Json], problems: list[str]) -> re.Pattern[str] | None:
    text = control.get("tidewheel_progress_pattern")
    if not isinstance(text, str) or text == "":
        return None
    try:
        pattern = re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        problems.append(f"hyperparameter tidewheel_progress_pattern: {error}")
        return None
    if "step" not in pattern.groupindex:
        problems.append(
            "hyperparameter tidewheel_progress_pattern: name the group that holds the step, "
            r"for example step (?P<step>\d+)/(?P<total>\d+)"
        )
    return pattern


def _distribution_groups(
    control: dict[str, Json], groups: tuple[Group, ...], problems: list[str]
) -> tuple[str, ...]:
    named = _texts(control.get("sagemaker_distribution_instance_groups"))
    known = [group.name for group in groups]
    for name in named:
        if name not in known:
            problems.append(
                f"hyperparameter sagemaker_distribution_instance_groups names {name!r}: "
                f"the job's groups are {', '.join(known)}"
            )
    # Without the key every group belongs. Accelerators lead, where a strategy tells groups apart.
    accelerated = [group.name for group in groups if _has_accelerator(group.instance_type)]
    return named or tuple(dict.fromkeys([*accelerated, *known]))


def _has_accelerator(instance_type: str) -> bool:
    """By the family: ml.p5.48xlarge, ml.g6e.xlarge, ml.trn2.48xlarge."""
    return re.match(r"(ml\.)?(p\d|g\d|trn|inf|dl\d)", instance_type) is not None


def _checkpoint_dir(base: Path, problems: list[str]) -> Path | None:
    path = base / "input" / "config" / "checkpointconfig.json"
    if not path.exists():
        return None
    local = _text(_read_object(path, problems).get("LocalPath"), "/opt/ml/checkpoints")
    inside = re.fullmatch(r"/opt/ml(/.*)?", local)
    return Path(f"{base}{inside.group(1) or ''}") if inside else Path(local)


def read_job(settings: Settings) -> Job:
    """Reads the four config files; raises ConfigurationError with every problem at once."""
    problems: list[str] = []
    config = settings.base / "input" / "config"
    if not config.is_dir():
        raise ConfigurationError(
            [f"{config} does not exist: set SAGEMAKER_BASE_DIR to the folder laid out as /opt/ml"]
        )
    resource = _read_object(config / "resourceconfig.json", problems)
    hosts = _texts(resource.get("hosts")) or ("localhost",)
    current = _text(resource.get("current_host"), hosts[0])
    kind = _text(resource.get("current_instance_type"), "local")
    groups = _groups(resource, hosts, kind)
    if current not in hosts:
        problems.append(f"resourceconfig.json: current_host {current!r} is not among its hosts")
    user, control = _hyperparameters(config / "hyperparameters.json", problems)
    channels = {
        name: value if isinstance(value, dict) else {}
        for name, value in _read_object(config / "inputdataconfig.json", problems).items()
    }
    job = Job(
        base=settings.base,
        hosts=hosts,
        current_host=current,
        current_group=_text(resource.get("current_group_name"), groups[0].name),
        current_instance_type=kind,
        groups=groups,
        network_interface=_text(resource.get("network_interface_name"), "eth0"),
        hyperparameters=user,
        control=control,
        channels=channels,
        resource_config=resource,
        checkpoint_dir=_checkpoint_dir(settings.base, problems),
        program=_program(control, problems),
        strategy=_strategy(control, problems),
        distribution_groups=_distribution_groups(control, groups, problems),
        progress_pattern=_progress_pattern(control, problems),
    )
    if not job.distribution_hosts:
        problems.append("resourceconfig.json: the groups that train have no hosts")
    if settings.spot and job.checkpoint_dir is None:
        problems.append(
            "Spot is on and there is nowhere to save: give the job a CheckpointConfig, "
            "or train On-Demand"
        )
    if problems:
        raise ConfigurationError(problems)
    return job
