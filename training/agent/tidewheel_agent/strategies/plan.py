"""Which program each strategy starts on this host."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from ..agent_path import program
from ..configuration.job import Job
from ..configuration.network import network_environment
from ..configuration.script_environment import script_arguments
from ..configuration.settings import ConfigurationError, Settings
from .mpi import starter_arguments
from .programs.several import Program
from .ray import node_program, script_program
from .tensorflow import (
    data_servers,
    parameter_server_programs,
    worker_config,
)


@dataclass(frozen=True)
class Host:
    """What this host has."""

    cpus: int
    gpus: int


@dataclass(frozen=True)
class Launch:
    argv: list[str]
    processes: int
    """Computing processes on this host; they share the CPUs."""
    environment: dict[str, str] = field(default_factory=dict)
    has_launcher: bool = False
    """The program only starts the script's processes and must not hear SIGTERM."""
    only_waits: bool = False
    """Nothing runs on this host: it stays until the leader has ended."""
    serves: bool = False
    """What runs here serves the leader's script, and ends with it."""
    awaits_proxy: int | None = None
    """What runs here is an MPI proxy: the leader tells its options for the host of this index."""


def plan(job: Job, settings: Settings, host: Host) -> Launch:
    planner = _PLANNERS.get(job.strategy)
    if planner is None:
        raise ConfigurationError(
            [f"strategy {job.strategy!r} is not in this agent: choose {', '.join(_PLANNERS)}"]
        )
    _check_groups(job)
    if job.strategy in _HOSTS_ALONE and job.current_host not in job.training_hosts:
        return Launch([], 0, only_waits=True)
    return planner(job, settings, host)


def _script(job: Job) -> list[str]:
    return [job.program, *script_arguments(job.hyperparameters)]


def processes_per_host(job: Job, host: Host) -> int:
    """As told, else one per GPU, else one."""
    for key in ("tidewheel_processes_per_host", "sagemaker_mpi_num_of_processes_per_host"):
        told = job.control.get(key)
        if isinstance(told, int) and not isinstance(told, bool) and told > 0:
            return told
    return max(1, host.gpus)


def _single(job: Job, settings: Settings, host: Host) -> Launch:
    return Launch([sys.executable, "-u", *_script(job)], processes=1)


def _ddp(job: Job, settings: Settings, host: Host) -> Launch:
    """torchrun with static rendezvous: rank order is host order, the same on every attempt."""
    hosts = job.training_hosts
    processes = processes_per_host(job, host)
    argv = [sys.executable, "-m", "torch.distributed.run"]
    argv += [f"--nnodes={len(hosts)}", f"--nproc-per-node={processes}"]
    # One node also rendezvous on our port: two jobs on one machine must not meet.
    argv += [
        f"--node-rank={hosts.index(job.current_host)}",
        f"--master-addr={hosts[0]}",
        f"--master-port={settings.master_port}",
    ]
    environment = {
        "MASTER_ADDR": hosts[0],
        "MASTER_PORT": str(settings.master_port),
        "NCCL_DEBUG": "WARN",
        **network_environment(job),
    }
    return Launch([*argv, *_script(job)], processes, environment, has_launcher=True)


def _check_groups(job: Job) -> None:
    """Where all hosts do the same, helper groups have to be told from them."""
    if (
        job.strategy in (*_HOSTS_ALONE, "parameter-server")
        and len(job.groups) > 1
        and "sagemaker_distribution_instance_groups" not in job.control
    ):
        raise ConfigurationError(
            [
                f"strategy {job.strategy} on several instance groups: name those that train in "
                "the hyperparameter sagemaker_distribution_instance_groups, a JSON list"
            ]
        )


def _multi_worker_mirrored(job: Job, settings: Settings, host: Host) -> Launch:
    hosts = job.training_hosts
    config = worker_config(hosts, job.current_host, settings.master_port)
    environment = {"TF_CONFIG": config} if len(hosts) > 1 else {}
    return Launch([sys.executable, "-u", *_script(job)], 1, environment)


def _parameter_server(job: Job, settings: Settings, host: Host) -> Launch:
    script = [sys.executable, "-u", *_script(job)]
    services, main = parameter_server_programs(job, settings.master_port, script)
    return several(services, main)


def several(services: list[Program], main: Program | None) -> Launch:
    """Services, and the program that they serve if it runs on this host."""
    told = json.dumps({"services": services, "main": main})
    return Launch(
        [*program("several"), told],
        processes=len(services) + (main is not None),
        has_launcher=True,
        serves=main is None,
    )


_HOSTS_ALONE = ("ddp", "multi-worker-mirrored", "mpi")
"""Strategies in which hosts of other groups have no part."""


def _mpi(job: Job, settings: Settings, host: Host) -> Launch:
    """mpiexec on the leader, a proxy on every other host; the proxies start the ranks."""
    processes = processes_per_host(job, host)
    index = job.training_hosts.index(job.current_host)
    names = network_environment(job)
    if index > 0:
        return Launch([], processes, names, has_launcher=True, serves=True, awaits_proxy=index)
    pins = "1" if job.control.get("tidewheel_pin_gpus") is True and host.gpus > 0 else "0"
    python = [sys.executable, "-u"]
    script = [*program("mpi_rank"), pins, *python, *_script(job)]
    argv = starter_arguments(job, processes, names.get("GLOO_SOCKET_IFNAME"), script)
    return Launch(argv, processes, names, has_launcher=True)


def _ray(job: Job, settings: Settings, host: Host) -> Launch:
    waits = min(settings.peers_seconds, _RAY_JOIN_SECONDS)
    node = node_program(job, settings.master_port, host.cpus, host.gpus, waits)
    if job.current_host != job.training_hosts[0]:
        return several([node], None)
    script = [sys.executable, "-u", *_script(job)]
    return several([node], script_program(job, settings.master_port, waits, script))


def _data_service(job: Job, settings: Settings, host: Host) -> Launch:
    """The helpers read and prepare the data; the other hosts train, mirrored if several."""
    if not job.helper_hosts:
        raise ConfigurationError(
            [
                "strategy data-service needs helper hosts: give the job a second instance group, "
                "or train with strategy single"
            ]
        )
    dispatcher, workers = data_servers(job, settings.master_port)
    if job.current_host in workers:
        argv = [*program("data_server"), dispatcher]
        argv += ["--worker", workers[job.current_host]]
        argv += ["--dispatch"] if job.current_host == job.helper_hosts[0] else []
        return several([{"argv": argv, "environment": {}}], None)
    training = job.training_hosts
    environment = {"TIDEWHEEL_DATA_SERVICE": f"grpc://{dispatcher}"}
    if len(training) > 1:
        # Ports after those of the data servers.
        port = settings.master_port + 1 + len(workers)
        environment["TF_CONFIG"] = worker_config(training, job.current_host, port)
    return Launch([sys.executable, "-u", *_script(job)], 1, environment)


_RAY_JOIN_SECONDS = 300.0
_PLANNERS: dict[str, Callable[[Job, Settings, Host], Launch]] = {
    "single": _single,
    "ddp": _ddp,
    "multi-worker-mirrored": _multi_worker_mirrored,
    "parameter-server": _parameter_server,
    "mpi": _mpi,
    "ray": _ray,
    "data-service": _data_service,
}
