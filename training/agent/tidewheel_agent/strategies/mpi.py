"""Runs any MPI program on all hosts without ssh.

MPICH's `mpiexec -launcher manual` prints the command line of the proxy that each host must run and
then waits for them to connect. The leader's agent passes what differs between hosts on to the other
agents, over the connection that they have anyway; each starts its own proxy, and nothing else can
be started that way: only numbers and the leader's own address are taken from the message.
https://github.com/pmodels/mpich/blob/main/doc/wiki/how_to/Using_the_Hydra_Process_Manager.md
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from ..agent_path import program
from ..configuration.job import Job
from ..configuration.settings import ConfigurationError

_LAUNCH_LINE = re.compile(
    r"HYDRA_LAUNCH: \S+ --control-port (?P<control>\S+):(?P<port>\d{1,5}) (?P<rest>.*)"
)
_OPTIONS = {
    "--rmk": r"user",
    "--launcher": r"manual",
    "--demux": r"poll|select",
    "--iface": r"[A-Za-z0-9_.-]{1,15}",
    "--pgid": r"\d{1,9}",
    "--retries": r"\d{1,9}",
    "--usize": r"-?\d{1,9}",
    "--pmi-port": r"\d{1,9}",
    "--gpus-per-proc": r"-?\d{1,9}",
    "--gpu-subdevs-per-proc": r"-?\d{1,9}",
    "--proxy-id": r"\d{1,6}",
}
"""Every option of a proxy with the form of its value; another is refused."""


def programs() -> tuple[str, str]:
    """MPICH's mpiexec and its proxy: beside this Python (pip install mpich), or on the PATH."""
    beside = str(Path(sys.executable).parent)
    for path in (beside, None):
        starter = shutil.which("mpiexec.hydra", path=path)
        proxy = shutil.which("hydra_pmi_proxy", path=path)
        if starter and proxy:
            return starter, proxy
    raise ConfigurationError(
        [
            "strategy mpi needs MPICH (mpiexec.hydra and hydra_pmi_proxy are not there): "
            "put mpich and mpi4py into the source's requirements.txt"
        ]
    )


def starter_arguments(
    job: Job, processes: int, interface: str | None, script: list[str]
) -> list[str]:
    """For the leader: ranks are counted host by host."""
    starter, proxy = programs()
    hosts = job.training_hosts
    argv = [*program("mpi_launch"), proxy]
    argv += [starter, "-launcher", "manual", "-hosts", ",".join(hosts)]
    argv += ["-localhost", hosts[0], *(["-iface", interface] if interface else [])]
    # Each rank has the variables of its own host, from its proxy, not the first host's.
    argv += ["-genvnone", "-ppn", str(processes), "-n", str(processes * len(hosts))]
    return [*argv, *script]


def proxy_options(line: str) -> tuple[int, list[str]] | None:
    """Which host's proxy a line of mpiexec starts, and its options; None for other lines."""
    match = _LAUNCH_LINE.match(line)
    if match is None:
        return None
    told = match["rest"].split()
    pairs = list(zip(told[::2], told[1::2], strict=False))
    index = next((int(value) for name, value in pairs if name == "--proxy-id"), None)
    if index is None:
        return None
    return index, ["--control-port", match["port"], *told]


def proxy_arguments(leader: str, options: list[str]) -> list[str]:
    """The command line of this host's proxy; raises ConfigurationError for anything unknown."""
    _, proxy = programs()
    problems = []
    if options[:1] != ["--control-port"] or len(options) % 2:
        problems.append(f"mpiexec's proxy cannot be started with {options!r}")
    argv = [proxy]
    for name, value in zip(options[::2], options[1::2], strict=False):
        if name == "--control-port" and re.fullmatch(r"\d{1,5}", value):
            argv += [name, f"{leader}:{value}"]
        elif re.fullmatch(_OPTIONS.get(name, "(?!)"), value):
            argv += [name, value]
        else:
            problems.append(f"mpiexec's proxy option {name!r} {value!r} is not known to this agent")
    if problems:
        raise ConfigurationError([f"{problem}: use mpich 4 or 5" for problem in problems])
    return argv
