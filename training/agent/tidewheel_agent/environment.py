"""The environment and the arguments that scripts written for SageMaker's toolkit expect.

Contract: SageMaker training toolkit, `environment.py` and `mapping.py`
(https://github.com/aws/sagemaker-training-toolkit). Arguments are lists, never shell text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from .job import Job, Json


def script_arguments(hyperparameters: Mapping[str, Json]) -> list[str]:
    """Sorted by name: `--name value`, `-n value` for one letter; booleans as True and False."""
    arguments: list[str] = []
    for name in sorted(hyperparameters):
        if name:
            arguments += [f"--{name}" if len(name) > 1 else f"-{name}"]
        arguments.append(_argument(hyperparameters[name]))
    return arguments


def _argument(value: Json) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        return ",".join(f"{key}={item}" for key, item in sorted(value.items()))
    return str(value)


def _variable(value: Json) -> str:
    """Strings as they are, None empty, everything else compact JSON with sorted keys."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def sagemaker_environment(
    job: Job, cpus: int, gpus: int, inherited: Mapping[str, str]
) -> dict[str, str]:
    """All SM_* variables of the toolkit for this host."""
    base = job.base
    groups = [group.name for group in job.groups]
    current = next((g for g in job.groups if g.name == job.current_group), job.groups[0])
    channels = {name: str(base / "input" / "data" / name) for name in job.channels}
    arguments = script_arguments(job.hyperparameters)
    module = job.program.removesuffix(".py").replace("/", ".")
    groups_dict: dict[str, Json] = {
        group.name: {
            "instance_group_name": group.name,
            "instance_type": group.instance_type,
            "hosts": list(group.hosts),
        }
        for group in job.groups
    }
    values: dict[str, Json] = {
        "hosts": list(job.hosts),
        "current_host": job.current_host,
        "current_instance_type": job.current_instance_type,
        "current_instance_group": job.current_group,
        "current_instance_group_hosts": list(current.hosts),
        "instance_groups": list(groups),
        "instance_groups_dict": groups_dict,
        "distribution_instance_groups": list(job.distribution_groups),
        "is_hetero": len(groups) > 1,
        "network_interface_name": job.network_interface,
        "hps": job.hyperparameters,
        "user_entry_point": job.program,
        "framework_params": job.control,
        "resource_config": job.resource_config,
        "input_data_config": dict(job.channels),
        "channels": list(sorted(job.channels)),
        "module_name": module,
        "module_dir": str(job.code_dir),
        "log_level": job.control.get("sagemaker_container_log_level", 20),
        "framework_module": inherited.get("SAGEMAKER_TRAINING_MODULE", ""),
        "input_dir": str(base / "input"),
        "input_config_dir": str(base / "input" / "config"),
        "output_dir": str(base / "output"),
        "output_data_dir": str(base / "output" / "data"),
        "output_intermediate_dir": str(base / "output" / "intermediate"),
        "model_dir": str(base / "model"),
        "num_cpus": cpus,
        "num_gpus": gpus,
        "num_neurons": 0,
        "user_args": list(arguments),
    }
    environment = {f"SM_{key.upper()}": _variable(value) for key, value in values.items()}
    environment["SM_TRAINING_ENV"] = _variable({**values, "channel_input_dirs": dict(channels)})
    named = {f"SM_CHANNEL_{name.upper()}": path for name, path in channels.items()}
    named |= {f"SM_HP_{k.upper()}": _variable(v) for k, v in job.hyperparameters.items()}
    # A name with "=" cannot be a variable; the value still arrives as an argument and in SM_HPS.
    environment |= {name: value for name, value in named.items() if "=" not in name}
    environment["CURRENT_HOST"] = job.current_host
    for variable, key in (
        ("SAGEMAKER_JOB_NAME", "sagemaker_job_name"),
        ("SAGEMAKER_REGION", "sagemaker_region"),
    ):
        environment[variable] = _variable(job.control.get(key))
    return environment


def thread_environment(cpus: int, processes: int, inherited: Mapping[str, str]) -> dict[str, str]:
    """Each process computes on its share of the CPUs; what the user set stays."""
    share = str(max(1, cpus // max(1, processes)))
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
    return {name: share for name in names if name not in inherited}
