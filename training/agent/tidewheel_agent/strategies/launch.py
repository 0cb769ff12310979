"""What the job's strategy starts on this host, and what all strategies need to say so.

A strategy is a module in this folder, whose function `launch` is a `Launcher`. Only the job's own
module is imported, because the agent compiles its modules at each start.
"""

import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from ..agent_path import program
from ..configuration.command_line import script_command
from ..configuration.job import Job
from ..configuration.settings import ConfigurationError, Hardware, Settings
from .programs.with_services import Program

FIRST_PORT_OFFSET = 2
"""A strategy's own ports come after the master port and the agents' port."""
_OF_TENSORFLOW = ("multi-worker-mirrored", "parameter-server", "data-service")


@dataclass(frozen=True)
class Launch:
    argv: list[str]
    processes: int
    """Computing processes on this host; they share the CPUs."""
    environment: dict[str, str] = field(default_factory=dict)
    """Defaults for the script's environment: a variable that the job sets wins."""
    has_launcher: bool = False
    """The program only starts the script's processes and must not get SIGTERM."""
    only_waits: bool = False
    """Nothing runs on this host, which stays until the leader has ended."""
    serves: bool = False
    """The program serves the leader's script and ends with it."""
    read_options: Callable[[str], tuple[int, list[str]] | None] | None = None
    """Reads from a line of the program's output which other host, by its index, must start its own
    program with which options."""
    host_index: int | None = None
    """The leader sends the options of this host's program under this index."""
    make_argv: Callable[[list[str]], list[str]] | None = None
    """Makes the command line from those options; raises ConfigurationError."""


Launcher: TypeAlias = Callable[[Job, Settings, Hardware], Launch]
"""The function `launch` of each strategy's module: what it starts on the job's current host."""


def plan(job: Job, settings: Settings, hardware: Hardware) -> Launch:
    """Raises ConfigurationError."""
    _check_groups(job)
    if job.traits.other_groups == "wait" and job.current_host not in job.training_hosts:
        return Launch([], 0, only_waits=True)
    return launcher_of(job.strategy)(job, settings, hardware)


def launcher_of(strategy: str) -> Launcher:
    if strategy == "single":
        return _launch_single
    name = "tensorflow" if strategy in _OF_TENSORFLOW else strategy.replace("-", "_")
    launcher: Launcher = importlib.import_module(f".{name}", __package__).launch
    return launcher


def _launch_single(job: Job, settings: Settings, hardware: Hardware) -> Launch:
    """The script itself, once."""
    return Launch(script_command(job), processes=1)


def _check_groups(job: Job) -> None:
    """Where other groups wait or serve, the job must say which groups train."""
    if (
        job.traits.other_groups in ("wait", "serve")
        and len(job.groups) > 1
        and "sagemaker_distribution_instance_groups" not in job.agent_parameters
    ):
        raise ConfigurationError(
            f"strategy {job.strategy} on several instance groups: name those that train in "
            "the hyperparameter sagemaker_distribution_instance_groups, a JSON list"
        )


def processes_per_host(job: Job, hardware: Hardware) -> int:
    """The configured number, else one per GPU, else one."""
    for key in ("tidewheel_processes_per_host", "sagemaker_mpi_num_of_processes_per_host"):
        number = job.agent_parameters.get(key)
        if isinstance(number, int) and not isinstance(number, bool) and number > 0:
            return number
    return max(1, hardware.gpus)


def with_services(services: list[Program], main: Program | None) -> Launch:
    """Starts services, and the program that they serve if it runs on this host."""
    return Launch(
        [*program("with_services"), json.dumps({"services": services, "main": main})],
        processes=len(services) + (main is not None),
        has_launcher=True,
        serves=main is None,
    )
