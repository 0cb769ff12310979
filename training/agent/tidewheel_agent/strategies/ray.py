"""Strategy `ray`: a Ray cluster over all hosts of all groups, the script on the leader.

Each host offers its CPUs, its GPUs and a resource named as its instance group, so that a script can
say where a task runs: `ray.remote(resources={"helpers": 0.01})`.
"""

import hashlib
import json
import sys
import zlib
from pathlib import Path

from ..agent_path import SERVICE_VARIABLE, program
from ..configuration.command_line import script_command
from ..configuration.job import Job
from ..configuration.settings import Hardware, Settings
from ..supervision.script_source import read_source
from .launch import FIRST_PORT_OFFSET, Launch, with_services
from .programs.ray_node import DRAIN_VARIABLE
from .programs.with_services import Program

_JOIN_SECONDS = 300.0
"""Limit for the next host to join the cluster."""


def launch(job: Job, settings: Settings, hardware: Hardware) -> Launch:
    join_seconds = min(settings.peers_seconds, _JOIN_SECONDS)
    port = settings.master_port + FIRST_PORT_OFFSET
    node = _node(job, port, hardware, join_seconds)
    if job.current_host != job.training_hosts[0]:
        return with_services([node], None)
    return with_services([node], _script(job, port, join_seconds))


def _head_address(job: Job, port: int) -> str:
    return f"{job.training_hosts[0]}:{port}"


def _node(job: Job, port: int, hardware: Hardware, join_seconds: float) -> Program:
    """`ray start` for this host, in the foreground, tried for `join_seconds`."""
    argv = [*program("ray_node"), f"{join_seconds:g}"]
    argv += [str(Path(sys.executable).with_name("ray")), "start", "--block"]
    argv += [f"--node-ip-address={job.current_host}"]
    argv += [f"--num-cpus={hardware.cpus}", f"--num-gpus={hardware.gpus}"]
    argv += [f"--resources={json.dumps({job.current_group: 1000})}", "--disable-usage-stats"]
    if job.current_host == job.training_hosts[0]:
        argv += ["--head", f"--port={port}", "--include-dashboard=false"]
        argv += [f"--temp-dir={_temporary_folder(job)}"]
    else:
        argv += [f"--address={_head_address(job, port)}"]
    environment = _environment(job)
    # A drained node takes no new task, on which other scripts may wait. Helpers serve to the end.
    if job.current_host in job.training_hosts and read_source(job.code_dir).asks_ray:
        environment[DRAIN_VARIABLE] = f"{_head_address(job, port)} {job.current_host}"
    return {"argv": argv, "environment": environment}


def _script(job: Job, port: int, join_seconds: float) -> Program:
    """Waits until all hosts have joined, then runs the user's script."""
    address = _head_address(job, port)
    argv = [*program("ray_launch"), address, str(len(job.hosts)), f"{join_seconds:g}"]
    environment = {
        "RAY_ADDRESS": address,
        # In the driver Ray handles SIGTERM itself and leaves at once with nothing saved, and its
        # workers would not get the signal. The stop file is the warning for scripts that use Ray.
        SERVICE_VARIABLE: "1",
        **_environment(job),
    }
    return {"argv": [*argv, *script_command(job)], "environment": environment}


def _temporary_folder(job: Job) -> str:
    """A folder for this job alone; its name is short since socket paths have 107 characters."""
    return f"/tmp/ray-{zlib.crc32(job.run_id.encode()):08x}"


def _environment(job: Job) -> dict[str, str]:
    return {
        # When the head dies, the nodes end too instead of waiting a minute for another.
        "RAY_gcs_rpc_server_reconnect_timeout_s": "5",
        # By default Ray hides all GPUs from tasks that ask for none.
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "RAY_TRAIN_V2_ENABLED": "1",
        # The default of 30 s is too short for a host that is still busy starting.
        "RAY_raylet_start_wait_time_s": "120",
        # Of the head's own service, which every node connects to: 20 s by default.
        "RAY_gcs_server_port_wait_time_s": "120",
        "RAY_agent_register_timeout_ms": "120000",
        # By default Ray takes a token from the host's user, which the other hosts may not have.
        # This one is the same on all hosts of a job. Like the job's name, it is no secret.
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": hashlib.sha256(f"tidewheel {job.run_id}".encode()).hexdigest(),
    }
