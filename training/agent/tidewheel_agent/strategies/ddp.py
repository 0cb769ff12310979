"""Strategy `ddp`: torchrun on every host that trains."""

import sys
from collections.abc import Sequence

from ..configuration.command_line import script_command, script_with_arguments
from ..configuration.job import Job
from ..configuration.network import network_environment
from ..configuration.settings import Hardware, Settings
from .launch import Launch, processes_per_host

_PORT = "--master-port="


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
        f"{_PORT}{settings.master_port}",
    ]
    environment = {
        "MASTER_ADDR": hosts[0],
        "MASTER_PORT": str(settings.master_port),
        "NCCL_DEBUG": "WARN",
        **network_environment(job),
    }
    # torchrun starts a Python script by itself, with -u.
    if job.script.command:
        program, *arguments = script_command(job)
        argv += ["--no-python", program, *_escaped(arguments)]
    else:
        argv += _escaped(script_with_arguments(job))
    return Launch(argv, processes, environment, has_launcher=True)


def with_master_port(argv: Sequence[str], port: int) -> list[str]:
    """The same command for a second gang on the same hosts; what the script gets stays."""
    first = next(index for index, text in enumerate(argv) if text.startswith(_PORT))
    return [*argv[:first], f"{_PORT}{port}", *argv[first + 1 :]]


def _escaped(arguments: Sequence[str]) -> list[str]:
    """Torchrun replaces ${local_rank} and $$ in arguments, by Python's string.Template."""
    return [text.replace("$", "$$") for text in arguments]
