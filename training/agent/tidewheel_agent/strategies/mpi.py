"""Strategy `mpi`: mpiexec on the leader, a proxy on every other host, no ssh.

MPICH's `mpiexec -launcher manual` prints the command line of the proxy that each host must run, and
waits for the proxies to connect. The leader's agent sends the options of each host's proxy over the
gang; each agent starts its own. A message can start nothing else: the agent takes only known
options and numbers from it, and its own address of the leader.
https://github.com/pmodels/mpich/blob/main/doc/wiki/how_to/Using_the_Hydra_Process_Manager.md
"""

import json
import re
import shutil
import sys
from functools import partial
from pathlib import Path

from ..agent_path import program
from ..configuration.command_line import script_command
from ..configuration.job import Job
from ..configuration.network import network_environment
from ..configuration.settings import ConfigurationError, Hardware, Settings
from .launch import Launch, processes_per_host
from .programs.mpi_rank import COMMAND_VARIABLE

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
"""The known options of a proxy with the form of their values; the agent refuses any other."""


def launch(job: Job, settings: Settings, hardware: Hardware) -> Launch:
    """The proxies start the ranks."""
    processes = processes_per_host(job, hardware)
    index = job.training_hosts.index(job.current_host)
    command = {COMMAND_VARIABLE: json.dumps(script_command(job))}
    environment = {**network_environment(job), **command}
    if index > 0:
        return Launch(
            [],
            processes,
            environment,
            has_launcher=True,
            serves=True,
            host_index=index,
            make_argv=partial(proxy_arguments, job.leader),
        )
    pin = "1" if job.agent_parameters.get("tidewheel_pin_gpus") is True and hardware.gpus else "0"
    rank = [*program("mpi_rank"), pin]
    argv = _mpiexec_arguments(job, processes, environment.get("GLOO_SOCKET_IFNAME"), rank)
    return Launch(argv, processes, environment, has_launcher=True, read_options=proxy_options)


def _find_programs() -> tuple[str, str]:
    """MPICH's mpiexec and its proxy, from beside this Python (pip install mpich) or the PATH."""
    beside = str(Path(sys.executable).parent)
    for path in (beside, None):
        mpiexec = shutil.which("mpiexec.hydra", path=path)
        proxy = shutil.which("hydra_pmi_proxy", path=path)
        if mpiexec and proxy:
            return mpiexec, proxy
    raise ConfigurationError(
        "strategy mpi needs MPICH (mpiexec.hydra and hydra_pmi_proxy are not there): "
        "put mpich and mpi4py into the source's requirements.txt"
    )


def _mpiexec_arguments(
    job: Job, processes: int, interface: str | None, rank: list[str]
) -> list[str]:
    """The leader's command line; ranks are numbered host by host."""
    mpiexec, proxy = _find_programs()
    hosts = job.training_hosts
    argv = [*program("mpi_launch"), proxy]
    argv += [mpiexec, "-launcher", "manual", "-hosts", ",".join(hosts)]
    argv += ["-localhost", hosts[0], *(["-iface", interface] if interface else [])]
    # Each rank inherits its own host's variables from its proxy, not those of the first host.
    argv += ["-genvnone", "-ppn", str(processes), "-n", str(processes * len(hosts))]
    return [*argv, *rank]


def proxy_options(line: str) -> tuple[int, list[str]] | None:
    """The host's index and the proxy's options from a line of mpiexec; None for other lines."""
    match = _LAUNCH_LINE.match(line)
    if match is None:
        return None
    options = match["rest"].split()
    pairs = list(zip(options[::2], options[1::2], strict=False))
    index = next((int(value) for name, value in pairs if name == "--proxy-id"), None)
    if index is None:
        return None
    return index, ["--control-port", match["port"], *options]


def proxy_arguments(leader: str, options: list[str]) -> list[str]:
    """This host's command line; raises ConfigurationError for an option that is not known."""
    _, proxy = _find_programs()
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
        raise ConfigurationError(*(f"{problem}: use mpich 4 or 5" for problem in problems))
    return argv
