"""The variables that scripts written for SageMaker's toolkit expect.

Contract: SageMaker training toolkit, `environment.py` and `mapping.py`
(https://github.com/aws/sagemaker-training-toolkit).
"""

import json
import os
from collections.abc import Mapping

from .command_line import declared_arguments
from .job import Job
from .settings import Hardware, Json

_TOOLKIT_PARAMETERS = (
    "sagemaker_program",
    "sagemaker_submit_directory",
    "sagemaker_container_log_level",
    "sagemaker_job_name",
    "sagemaker_region",
    "sagemaker_s3_output",
)
_DISTRIBUTIONS = (
    "sagemaker_mpi_enabled",
    "sagemaker_parameter_server_enabled",
    "sagemaker_multi_worker_mirrored_strategy_enabled",
    "sagemaker_distributed_dataparallel_enabled",
    "sagemaker_pytorch_ddp_enabled",
    "sagemaker_pytorch_xla_multi_worker_enabled",
    "sagemaker_torch_distributed_enabled",
)
"""The SDK sets these. A job of the service names its strategy."""
_LONGEST_VARIABLE = 128 * 1024


def _variable(value: Json) -> str:
    """A string as it is, None as the empty string, anything else as compact JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def sagemaker_environment(
    job: Job, hardware: Hardware, inherited: Mapping[str, str]
) -> dict[str, str]:
    """All of the toolkit's SM_* variables for this host."""
    channels = job.script_channels
    framework: dict[str, Json] = {
        key: value for key, value in job.agent_parameters.items() if key not in _TOOLKIT_PARAMETERS
    }
    common = {
        **_job_values(job),
        **_folder_values(job),
        "framework_module": inherited.get("SAGEMAKER_TRAINING_MODULE") or None,
        "num_cpus": hardware.cpus,
        "num_gpus": hardware.gpus,
        "num_neurons": 0,
    }
    variables: dict[str, Json] = {
        **common,
        "hps": job.hyperparameters,
        "framework_params": framework,
        "channels": list(sorted(channels)),
        "user_args": list(declared_arguments(job)),
    }
    master = job.distribution_hosts[0]
    everything: dict[str, Json] = {
        **common,
        "hyperparameters": job.hyperparameters,
        "additional_framework_parameters": framework,
        "channel_input_dirs": dict(channels),
        "distribution_hosts": list(job.distribution_hosts) if _is_distributed(job) else [],
        "master_hostname": master,
        "is_master": job.current_host == master,
        "job_name": inherited.get("TRAINING_JOB_NAME") or None,
        "is_modelparallel_enabled": None,
        "is_smddprun_installed": False,
        "is_smddpmprun_installed": False,
        "topology": job.resource_config.get("topology", []),
    }
    environment = {f"SM_{key.upper()}": _variable(value) for key, value in variables.items()}
    environment["SM_TRAINING_ENV"] = _variable(everything)
    environment |= {f"SM_CHANNEL_{name.upper()}": path for name, path in channels.items()}
    for name, value in job.hyperparameters.items():
        environment[f"SM_HP_{name.upper()}"] = _variable(value)
    environment["CURRENT_HOST"] = job.current_host
    environment["SAGEMAKER_JOB_NAME"] = _variable(job.agent_parameters.get("sagemaker_job_name"))
    environment["SAGEMAKER_REGION"] = _variable(job.agent_parameters.get("sagemaker_region"))
    return {name: value for name, value in environment.items() if _can_be_set(name, value)}


def _is_distributed(job: Job) -> bool:
    """The toolkit names no groups that train together where nothing is distributed."""
    return (
        job.strategy != "single"
        or "sagemaker_distribution_instance_groups" in job.agent_parameters
        or any(job.agent_parameters.get(key) is True for key in _DISTRIBUTIONS)
    )


def _can_be_set(name: str, value: str) -> bool:
    """Linux allows no "=" in a name and no variable of 128 KiB; the value is an argument too."""
    return "=" not in name and len(os.fsencode(f"{name}={value}")) < _LONGEST_VARIABLE


def _job_values(job: Job) -> dict[str, Json]:
    groups = [group.name for group in job.groups]
    current = next((g for g in job.groups if g.name == job.current_group), job.groups[0])
    return {
        "hosts": list(job.hosts),
        "current_host": job.current_host,
        "current_instance_type": job.current_instance_type,
        "current_instance_group": job.current_group,
        "current_instance_group_hosts": list(current.hosts),
        "instance_groups": list(groups),
        "instance_groups_dict": {
            group.name: {
                "instance_group_name": group.name,
                "instance_type": group.instance_type,
                "hosts": list(group.hosts),
            }
            for group in job.groups
        },
        "distribution_instance_groups": list(job.distribution_groups)
        if _is_distributed(job)
        else [],
        "is_hetero": len(groups) > 1,
        "network_interface_name": job.network_interface,
        "user_entry_point": job.program,
        "module_name": job.program.removesuffix(".py").replace("/", "."),
        "resource_config": job.resource_config,
        "input_data_config": dict(job.channels),
        "log_level": job.agent_parameters.get("sagemaker_container_log_level", 20),
    }


def _folder_values(job: Job) -> dict[str, Json]:
    base = job.base
    return {
        # The toolkit sets the S3 URI of the source here, the agent its folder.
        "module_dir": str(job.code_dir),
        "input_dir": str(base / "input"),
        "input_config_dir": str(base / "input" / "config"),
        "output_dir": str(base / "output"),
        "output_data_dir": str(base / "output" / "data"),
        "output_intermediate_dir": str(base / "output" / "intermediate"),
        "model_dir": str(base / "model"),
    }
