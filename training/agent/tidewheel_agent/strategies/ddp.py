"""Strategy `ddp`: torchrun on every host that trains."""

from __future__ import annotations

import sys

from ..configuration.command_line import script_command, script_with_arguments
from ..configuration.hardware import Hardware
from ..configuration.job import Job
from ..configuration.network import network_environment
from ..configuration.settings import Settings
from .launch import Launch, processes_per_host


def launch(job: Job, settings: Settings, hardware: Hardware) -> Launch:
    """Static rendezvous orders ranks as hosts are ordered, the same in every attempt."""
    hosts = job.training_hosts
    processes = processes_per_host(job, hardware)
    argv = [sys.executable, "-m", "torch.distributed.run"]
    argv += [f"--nnodes={len(hosts)}", f"--nproc-per-node={processes}"]
    # A single node has a master port too: two jobs on one machine must not share torchrun's own.
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
    # torchrun starts a Python script by itself, with -u.
    command = (
        ["--no-python", *script_command(job)] if job.script.command else script_with_arguments(job)
    )
    return Launch([*argv, *command], processes, environment, has_launcher=True)
