"""Strategy `data-service`: helper hosts prepare the data with tf.data service, the others train."""

from __future__ import annotations

from ..agent_path import program
from ..configuration.command_line import script_command
from ..configuration.hardware import Hardware
from ..configuration.job import Job
from ..configuration.settings import ConfigurationError, Settings
from .launch import FIRST_PORT_OFFSET, Launch, with_services
from .tensorflow import worker_config


def launch(job: Job, settings: Settings, hardware: Hardware) -> Launch:
    """The hosts that train are mirrored workers where there are several."""
    if not job.helper_hosts:
        raise ConfigurationError(
            [
                "strategy data-service needs helper hosts: give the job a second instance group, "
                "or train with strategy single"
            ]
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
        environment["TF_CONFIG"] = worker_config(training, job.current_host, port)
    return Launch(script_command(job), 1, environment)


def _data_servers(helpers: tuple[str, ...], master_port: int) -> tuple[str, dict[str, str]]:
    """Address of the dispatcher, on the first helper, and of each helper's data worker."""
    port = master_port + FIRST_PORT_OFFSET
    workers = {host: f"{host}:{port + 1 + i}" for i, host in enumerate(helpers)}
    return f"{helpers[0]}:{port}", workers
