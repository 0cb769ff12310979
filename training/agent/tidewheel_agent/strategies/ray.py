"""Ray over all hosts of a job: a head on the leader, every other host of every group joins.

Each host offers its CPUs and GPUs, and a resource with the name of its instance group, so that a
script can say where something runs: `ray.remote(resources={"helpers": 0.01})`.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from pathlib import Path

from ..agent_path import program
from ..configuration.job import Job
from ..supervision.process_tree import SERVICE_VARIABLE
from .programs.several import Program

_HEAD_PORT = 2


def head_address(job: Job, port: int) -> str:
    return f"{job.training_hosts[0]}:{port + _HEAD_PORT}"


def node_program(job: Job, port: int, cpus: int, gpus: int, join_seconds: float) -> Program:
    """`ray start` for this host, in the foreground, tried for `join_seconds`."""
    argv = [*program("ray_node"), f"{join_seconds:g}"]
    argv += [str(Path(sys.executable).with_name("ray")), "start", "--block"]
    argv += [f"--node-ip-address={job.current_host}", f"--num-cpus={cpus}", f"--num-gpus={gpus}"]
    argv += [f"--resources={json.dumps({job.current_group: 1000})}", "--disable-usage-stats"]
    if job.current_host == job.training_hosts[0]:
        argv += ["--head", f"--port={port + _HEAD_PORT}", "--include-dashboard=false"]
        argv += [f"--temp-dir={_temporary(job)}"]
    else:
        argv += [f"--address={head_address(job, port)}"]
    return {"argv": argv, "environment": _environment(job)}


def _temporary(job: Job) -> str:
    """Short, for sockets below it have a path of 107 characters at most; of this job alone."""
    return f"/tmp/ray-{zlib.crc32(job.run_id.encode()):08x}"


def _environment(job: Job) -> dict[str, str]:
    return {
        # Where the head dies the nodes end too, instead of waiting a minute for another.
        "RAY_gcs_rpc_server_reconnect_timeout_s": "5",
        # Ray would take all GPUs away from tasks that ask for none.
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "RAY_TRAIN_V2_ENABLED": "1",
        # 30 s are too few on a host that is still busy with its start.
        "RAY_raylet_start_wait_time_s": "120",
        "RAY_agent_register_timeout_ms": "120000",
        # Else Ray takes a token of the host's user, where there is one, and other hosts have none.
        # The same on all hosts of a job and on none of another; no secret, as its name is none.
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": hashlib.sha256(f"tidewheel {job.run_id}".encode()).hexdigest(),
    }


def script_program(job: Job, port: int, wait_seconds: float, script: list[str]) -> Program:
    """Waits for all hosts to join, a bounded time, and then runs the user's script."""
    address = head_address(job, port)
    argv = [*program("ray_launch"), address, str(len(job.hosts)), f"{wait_seconds:g}"]
    # Ray's own handler of SIGTERM in the driver leaves at once, with nothing saved: where scripts
    # use Ray, the stop file is the warning, which Ray's workers could not hear otherwise either.
    quiet = {SERVICE_VARIABLE: "1"}
    environment = {"RAY_ADDRESS": address, **quiet, **_environment(job)}
    return {"argv": [*argv, *script], "environment": environment}
