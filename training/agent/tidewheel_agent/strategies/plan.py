"""Which program the job's strategy starts on this host.

Strategy `a-b` is the module a_b.py in this folder, whose function `launch` is a `Launcher`. Only
the job's own module is imported, because the agent compiles its modules at each start.
"""

from __future__ import annotations

import importlib

from ..configuration.hardware import Hardware
from ..configuration.job import Job
from ..configuration.settings import ConfigurationError, Settings
from .launch import Launch, Launcher


def plan(job: Job, settings: Settings, hardware: Hardware) -> Launch:
    """Raises ConfigurationError."""
    _check_groups(job)
    if job.traits.other_groups == "wait" and job.current_host not in job.training_hosts:
        return Launch([], 0, only_waits=True)
    return launcher_of(job.strategy)(job, settings, hardware)


def launcher_of(strategy: str) -> Launcher:
    module = importlib.import_module(f".{strategy.replace('-', '_')}", __package__)
    launcher: Launcher = module.launch
    return launcher


def _check_groups(job: Job) -> None:
    """Where other groups wait or serve, the job must say which groups train."""
    if (
        job.traits.other_groups in ("wait", "serve")
        and len(job.groups) > 1
        and "sagemaker_distribution_instance_groups" not in job.agent_parameters
    ):
        raise ConfigurationError(
            [
                f"strategy {job.strategy} on several instance groups: name those that train in "
                "the hyperparameter sagemaker_distribution_instance_groups, a JSON list"
            ]
        )
