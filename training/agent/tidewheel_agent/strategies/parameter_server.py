"""Strategy `parameter-server`: TensorFlow's chief, workers and parameter servers."""

from __future__ import annotations

from ..configuration.command_line import script_command
from ..configuration.hardware import Hardware
from ..configuration.job import Job
from ..configuration.settings import Settings
from .launch import FIRST_PORT_OFFSET, Launch, with_services
from .programs.with_services import Program
from .tensorflow import Cluster, task_config


def launch(job: Job, settings: Settings, hardware: Hardware) -> Launch:
    """Every task runs the user's script, which reads its part from TF_CONFIG.

    The chief is the main program on the leader; all other tasks of a host are services.
    """
    cluster = _cluster(job, settings.master_port)
    script = script_command(job)
    services: list[Program] = []
    main: Program | None = None
    for kind, index in _tasks_on(cluster, job.current_host):
        environment = {"TF_CONFIG": task_config(cluster, kind, index)}
        program: Program = {"argv": script, "environment": environment}
        if kind == "chief":
            main = program
        else:
            services.append(program)
    return with_services(services, main)


def _cluster(job: Job, master_port: int) -> Cluster:
    """The chief on the leader, a worker on each host that trains, parameter servers on the helpers.

    Without helpers each host that trains runs a parameter server beside its worker.
    """
    servers = job.helper_hosts or job.training_hosts
    ports = iter(range(master_port + FIRST_PORT_OFFSET, 65_536))
    return {
        "chief": [f"{job.training_hosts[0]}:{next(ports)}"],
        "worker": [f"{host}:{next(ports)}" for host in job.training_hosts],
        "ps": [f"{host}:{next(ports)}" for host in servers],
    }


def _tasks_on(cluster: Cluster, host: str) -> list[tuple[str, int]]:
    return [
        (kind, index)
        for kind, addresses in cluster.items()
        for index, address in enumerate(addresses)
        if address.rsplit(":", 1)[0] == host
    ]
