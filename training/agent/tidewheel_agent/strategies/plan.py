"""Which program the job's strategy starts on this host."""

from __future__ import annotations

from ..configuration.hardware import Hardware
from ..configuration.job import Job
from ..configuration.settings import ConfigurationError, Settings
from . import data_service, ddp, mpi, multi_worker_mirrored, parameter_server, ray, single
from .launch import Launch, Launcher

_HOSTS_ALONE = ("ddp", "multi-worker-mirrored", "mpi")
"""Strategies in which hosts of other groups have no part."""
_LAUNCHERS: dict[str, Launcher] = {
    "single": single.launch,
    "ddp": ddp.launch,
    "multi-worker-mirrored": multi_worker_mirrored.launch,
    "parameter-server": parameter_server.launch,
    "mpi": mpi.launch,
    "ray": ray.launch,
    "data-service": data_service.launch,
}


def plan(job: Job, settings: Settings, hardware: Hardware) -> Launch:
    launcher = _LAUNCHERS.get(job.strategy)
    if launcher is None:
        raise ConfigurationError(
            [f"strategy {job.strategy!r} is not in this agent: choose {', '.join(_LAUNCHERS)}"]
        )
    _check_groups(job)
    if job.strategy in _HOSTS_ALONE and job.current_host not in job.training_hosts:
        return Launch([], 0, only_waits=True)
    return launcher(job, settings, hardware)


def _check_groups(job: Job) -> None:
    """Strategies whose hosts all do the same must be told which groups help."""
    if (
        job.strategy in (*_HOSTS_ALONE, "parameter-server")
        and len(job.groups) > 1
        and "sagemaker_distribution_instance_groups" not in job.agent_parameters
    ):
        raise ConfigurationError(
            [
                f"strategy {job.strategy} on several instance groups: name those that train in "
                "the hyperparameter sagemaker_distribution_instance_groups, a JSON list"
            ]
        )
