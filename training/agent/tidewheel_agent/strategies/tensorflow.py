"""TensorFlow's strategies, and TF_CONFIG: how the tasks of a cluster find each other.

https://www.tensorflow.org/guide/distributed_training#TF_CONFIG. TensorFlow's servers listen on
every address of the machine, so each task has its own port for hosts that share one.
"""

import json
from collections.abc import Mapping, Sequence

from ..agent_path import program
from ..configuration.command_line import script_command
from ..configuration.job import Job
from ..configuration.settings import ConfigurationError, Hardware, Settings
from .launch import FIRST_PORT_OFFSET, Launch, with_services
from .programs.with_services import Program

_Cluster = Mapping[str, Sequence[str]]
"""Addresses of all tasks by the kind of task, in the order of their indexes."""


def launch(job: Job, settings: Settings, hardware: Hardware) -> Launch:
    if job.strategy == "parameter-server":
        return _parameter_server(job, settings)
    if job.strategy == "data-service":
        return _data_service(job, settings)
    return _multi_worker_mirrored(job, settings)


def _multi_worker_mirrored(job: Job, settings: Settings) -> Launch:
    """Equal workers, one on each host that trains."""
    hosts = job.training_hosts
    config = _worker_config(hosts, job.current_host, settings.master_port)
    environment = {"TF_CONFIG": config} if len(hosts) > 1 else {}
    return Launch(script_command(job), 1, environment)


def _parameter_server(job: Job, settings: Settings) -> Launch:
    """A chief, workers and parameter servers.

    Every task runs the user's script, which reads its part from TF_CONFIG. The chief is the main
    program on the leader; all other tasks of a host are services.
    """
    cluster = _cluster(job, settings.master_port)
    script = script_command(job)
    services: list[Program] = []
    main: Program | None = None
    for kind, index in _tasks_on(cluster, job.current_host):
        environment = {"TF_CONFIG": _task_config(cluster, kind, index)}
        task: Program = {"argv": script, "environment": environment}
        if kind == "chief":
            main = task
        else:
            services.append(task)
    return with_services(services, main)


def _cluster(job: Job, master_port: int) -> _Cluster:
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


def _tasks_on(cluster: _Cluster, host: str) -> list[tuple[str, int]]:
    return [
        (kind, index)
        for kind, addresses in cluster.items()
        for index, address in enumerate(addresses)
        if address.rsplit(":", 1)[0] == host
    ]


def _data_service(job: Job, settings: Settings) -> Launch:
    """Helper hosts prepare the data with tf.data service, the others train.

    The hosts that train are mirrored workers where there are several.
    """
    if not job.helper_hosts:
        raise ConfigurationError(
            "strategy data-service needs helper hosts: give the job a second instance group, "
            "or train with strategy single"
        )
    dispatcher, workers = _data_servers(job.helper_hosts, settings.master_port)
    if job.current_host in workers:
        argv = [*program("data_server"), dispatcher]
        argv += ["--worker", workers[job.current_host]]
        argv += ["--dispatch"] if job.current_host == job.helper_hosts[0] else []
        return with_services([{"argv": argv, "environment": {}}], None)
    training = job.training_hosts
    environment = {"TIDEWHEEL_DATA_SERVICE": f"grpc://{dispatcher}"}
    if len(training) > 1:
        # Past the ports of the data servers.
        port = settings.master_port + 1 + len(workers)
        environment["TF_CONFIG"] = _worker_config(training, job.current_host, port)
    return Launch(script_command(job), 1, environment)


def _data_servers(helpers: tuple[str, ...], master_port: int) -> tuple[str, dict[str, str]]:
    """Address of the dispatcher, on the first helper, and of each helper's data worker."""
    port = master_port + FIRST_PORT_OFFSET
    workers = {host: f"{host}:{port + 1 + i}" for i, host in enumerate(helpers)}
    return f"{helpers[0]}:{port}", workers


def _task_config(cluster: _Cluster, kind: str, index: int) -> str:
    """TF_CONFIG of one task."""
    config = {"cluster": cluster, "task": {"type": kind, "index": index}, "environment": "cloud"}
    return json.dumps(config)


def _worker_config(hosts: tuple[str, ...], current_host: str, master_port: int) -> str:
    """TF_CONFIG of one of several equal workers; worker 0 is the chief."""
    first_port = master_port + FIRST_PORT_OFFSET
    workers = [f"{host}:{first_port + i}" for i, host in enumerate(hosts)]
    return _task_config({"worker": workers}, "worker", hosts.index(current_host))
