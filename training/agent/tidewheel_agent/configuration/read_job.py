"""Reads and checks the job that the platform describes in `input/config`."""

import json
import math
import os
import re
import textwrap
from pathlib import Path

from ..agent_path import AUTOMATIC, INSTRUMENT
from ..declared_pattern import DeclaredPattern
from .job import Group, Job, WrittenFloat
from .script_document import ScriptDocument, read_script
from .settings import ConfigurationError, Json, Settings
from .strategy_traits import TRAITS

_LONGEST_NAME = 80


def decode_hyperparameter(text: str) -> Json:
    """SDKs send JSON. Other text, as from the console, stays the string that it is."""
    try:
        value: Json = json.loads(text, parse_constant=_refuse_constant, parse_float=WrittenFloat)
    except (ValueError, RecursionError):
        return text
    # json reads 1e999 as infinity, which the user did not write.
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


def _string(value: Json, default: str) -> str:
    return value if isinstance(value, str) and value else default


def _strings(value: Json) -> tuple[str, ...]:
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()


def _groups(resource: dict[str, Json], hosts: tuple[str, ...], kind: str) -> tuple[Group, ...]:
    listed = resource.get("instance_groups")
    groups = tuple(
        Group(
            _string(entry.get("instance_group_name"), "homogeneousCluster"),
            _string(entry.get("instance_type"), kind),
            _strings(entry.get("hosts")),
        )
        for entry in (listed if isinstance(listed, list) else [])
        if isinstance(entry, dict)
    )
    return groups or (Group("homogeneousCluster", kind, hosts),)


def _hyperparameters(path: Path, problems: list[str]) -> tuple[dict[str, Json], dict[str, Json]]:
    user: dict[str, Json] = {}
    agent_parameters: dict[str, Json] = {}
    for key, raw in _read_object(path, problems).items():
        value = decode_hyperparameter(raw) if isinstance(raw, str) else raw
        if not _can_be_passed(key) or not _can_be_passed(value):
            problems.append(
                f"hyperparameter {key!r}: remove the NUL character or the lone surrogate, "
                "which the operating system passes to no program"
            )
        elif key.startswith(("sagemaker_", "tidewheel_")):
            agent_parameters[key] = value
        else:
            user[key] = value
    return user, agent_parameters


def _can_be_passed(value: Json) -> bool:
    """Whether the operating system accepts the value as an argument."""
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


def _program(agent_parameters: dict[str, Json], script: ScriptDocument, problems: list[str]) -> str:
    if script.command:
        # The log and failures name it: lines of a shell would hide the reason.
        return textwrap.shorten(
            " ".join(str(part) for part in script.command), _LONGEST_NAME, placeholder=" …"
        )
    program = _string(agent_parameters.get("sagemaker_program"), "")
    if program == "":
        problems.append("hyperparameter sagemaker_program is missing: name the script, train.py")
    elif not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_./-]*", program) or ".." in program.split("/"):
        problems.append(
            f"hyperparameter sagemaker_program={program!r}: "
            "give a path inside the source of letters, digits and ._-/"
        )
    return program


def _strategy(agent_parameters: dict[str, Json], problems: list[str]) -> str:
    strategy = _string(agent_parameters.get("tidewheel_strategy"), "")
    if strategy == "" and agent_parameters.get("sagemaker_torch_distributed_enabled") is True:
        strategy = "ddp"
    strategy = strategy or "single"
    if strategy not in TRAITS:
        known = ", ".join(TRAITS)
        problems.append(f"hyperparameter tidewheel_strategy={strategy!r}: choose one of {known}")
        return "single"  # The problem ends the job; until then its hosts need some traits.
    return strategy


def _progress_pattern(
    agent_parameters: dict[str, Json], problems: list[str]
) -> DeclaredPattern | None:
    text = agent_parameters.get("tidewheel_progress_pattern")
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
    return DeclaredPattern("training.progress.pattern", text)


def _distribution_groups(
    agent_parameters: dict[str, Json], groups: tuple[Group, ...], problems: list[str]
) -> tuple[str, ...]:
    named = _strings(agent_parameters.get("sagemaker_distribution_instance_groups"))
    known = [group.name for group in groups]
    for name in named:
        if name not in known:
            problems.append(
                f"hyperparameter sagemaker_distribution_instance_groups names {name!r}: "
                f"the job's groups are {', '.join(known)}"
            )
    # Without the key all groups train, those with accelerators first.
    accelerated = [group.name for group in groups if _has_accelerator(group.instance_type)]
    return named or tuple(dict.fromkeys([*accelerated, *known]))


def _has_accelerator(instance_type: str) -> bool:
    """By the instance family, as in ml.p5.48xlarge, ml.g6e.xlarge, ml.trn2.48xlarge."""
    return re.match(r"(ml\.)?(p\d|g\d|trn|inf|dl\d)", instance_type) is not None


def _checkpoint_dir(base: Path, problems: list[str]) -> Path | None:
    path = base / "input" / "config" / "checkpointconfig.json"
    if not path.exists():
        return None
    local = _string(_read_object(path, problems).get("LocalPath"), "/opt/ml/checkpoints")
    inside = re.fullmatch(r"/opt/ml(/.*)?", local)
    return Path(f"{base}{inside.group(1) or ''}") if inside else Path(local)


def read_job(settings: Settings) -> Job:
    """Reads the four config files; raises ConfigurationError with every problem."""
    problems: list[str] = []
    config = settings.base / "input" / "config"
    if not config.is_dir():
        raise ConfigurationError(
            f"{config} does not exist: set SAGEMAKER_BASE_DIR to the folder laid out as /opt/ml"
        )
    resource = _read_object(config / "resourceconfig.json", problems)
    hosts = _strings(resource.get("hosts")) or ("localhost",)
    current = _string(resource.get("current_host"), hosts[0])
    kind = _string(resource.get("current_instance_type"), "local")
    groups = _groups(resource, hosts, kind)
    if current not in hosts:
        problems.append(f"resourceconfig.json: current_host {current!r} is not among its hosts")
    user, agent_parameters = _hyperparameters(config / "hyperparameters.json", problems)
    channels = {
        name: value if isinstance(value, dict) else {}
        for name, value in _read_object(config / "inputdataconfig.json", problems).items()
    }
    checkpoint_dir = _checkpoint_dir(settings.base, problems)
    script = read_script(agent_parameters, checkpoint_dir, problems)
    job = Job(
        base=settings.base,
        hosts=hosts,
        current_host=current,
        current_group=_string(resource.get("current_group_name"), groups[0].name),
        current_instance_type=kind,
        groups=groups,
        network_interface=_string(resource.get("network_interface_name"), "eth0"),
        hyperparameters=user,
        agent_parameters=agent_parameters,
        channels=channels,
        resource_config=resource,
        checkpoint_dir=checkpoint_dir,
        program=_program(agent_parameters, script, problems),
        strategy=_strategy(agent_parameters, problems),
        distribution_groups=_distribution_groups(agent_parameters, groups, problems),
        progress_pattern=_progress_pattern(agent_parameters, problems),
        script=script,
    )
    if not job.distribution_hosts:
        problems.append("resourceconfig.json: the groups that train have no hosts")
    if settings.spot and job.checkpoint_dir is None:
        problems.append(
            "the job runs on Spot and has nowhere to save: give the job a CheckpointConfig, "
            "or train On-Demand"
        )
    problems += _missing_hooks(job)
    if problems:
        raise ConfigurationError(*problems)
    return job


def _missing_hooks(job: Job) -> list[str]:
    """A launcher may have brought the agent alone."""
    rules = job.checkpoint_rules
    needed = {INSTRUMENT: job.script.instrument, AUTOMATIC: rules is not None and rules.automatic}
    return [
        f"{path} is missing: bring all files of the agent's folder"
        for path, is_needed in needed.items()
        if is_needed and not path.exists()
    ]
