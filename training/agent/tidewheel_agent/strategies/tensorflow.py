"""TensorFlow's clusters: who is worker, parameter server, chief and data server on which host.

TensorFlow's servers listen on every address of the machine, so each task gets a port of its own,
for hosts that share a machine. The tasks find each other by TF_CONFIG
(https://www.tensorflow.org/guide/distributed_training#TF_CONFIG).
"""

from __future__ import annotations

import json

from ..configuration.job import Job
from .programs.several import Program

_FIRST_PORT = 2
"""After the master port and the agents' own."""


def worker_config(hosts: tuple[str, ...], current: str, port: int) -> str:
    """TF_CONFIG of a cluster of equal workers; worker 0 is the chief."""
    workers = [f"{name}:{port + _FIRST_PORT + i}" for i, name in enumerate(hosts)]
    cluster = {
        "cluster": {"worker": workers},
        "task": {"type": "worker", "index": hosts.index(current)},
        "environment": "cloud",
    }
    return json.dumps(cluster)


def parameter_server_cluster(job: Job, port: int) -> dict[str, list[str]]:
    """Chief on the leader, a worker on each host that trains; the parameters live on the helper
    hosts, or beside the workers where there are none."""
    servers = job.helper_hosts or job.training_hosts
    ports = iter(range(port + _FIRST_PORT, 65_536))
    return {
        "chief": [f"{job.training_hosts[0]}:{next(ports)}"],
        "worker": [f"{host}:{next(ports)}" for host in job.training_hosts],
        "ps": [f"{host}:{next(ports)}" for host in servers],
    }


def tasks_on(cluster: dict[str, list[str]], host: str) -> list[tuple[str, int]]:
    return [
        (kind, index)
        for kind, addresses in cluster.items()
        for index, address in enumerate(addresses)
        if address.rsplit(":", 1)[0] == host
    ]


def parameter_server_programs(
    job: Job, port: int, script: list[str]
) -> tuple[list[Program], Program | None]:
    """The services of this host, and the chief where it is the leader's.

    Every task runs the user's script, which sees its own part in TF_CONFIG.
    """
    cluster = parameter_server_cluster(job, port)
    services: list[Program] = []
    main: Program | None = None
    for kind, index in tasks_on(cluster, job.current_host):
        config = {
            "cluster": cluster,
            "task": {"type": kind, "index": index},
            "environment": "cloud",
        }
        program: Program = {"argv": script, "environment": {"TF_CONFIG": json.dumps(config)}}
        if kind == "chief":
            main = program
        else:
            services.append(program)
    return services, main


def data_servers(job: Job, port: int) -> tuple[str, dict[str, str]]:
    """Address of the dispatcher, on the first helper, and the address of each helper's worker."""
    helpers = job.helper_hosts
    workers = {host: f"{host}:{port + _FIRST_PORT + 1 + i}" for i, host in enumerate(helpers)}
    return f"{helpers[0]}:{port + _FIRST_PORT}", workers
