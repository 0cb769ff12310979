"""Strategy `multi-worker-mirrored`: TensorFlow's equal workers, one on each host that trains."""

from __future__ import annotations

from ..configuration.command_line import script_command
from ..configuration.hardware import Hardware
from ..configuration.job import Job
from ..configuration.settings import Settings
from .launch import Launch
from .tensorflow import worker_config


def launch(job: Job, settings: Settings, hardware: Hardware) -> Launch:
    hosts = job.training_hosts
    config = worker_config(hosts, job.current_host, settings.master_port)
    environment = {"TF_CONFIG": config} if len(hosts) > 1 else {}
    return Launch(script_command(job), 1, environment)
