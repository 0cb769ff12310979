"""Several hosts of one job on this machine; each has a base folder, an agent and an address."""

import atexit
import compileall
import contextlib
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Any

TRAINING = Path(__file__).resolve().parent.parent
CHECKPOINTS = "checkpoints"


@dataclass(frozen=True)
class JobOnThisMachine:
    """A job as all its hosts see it."""

    strategy: str
    source: Path
    program: str
    data: Path
    python: Path
    hosts: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Instance groups of a cluster with their hosts; the first trains. Empty: one group of all."""
    hyperparameters: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    pipes: int = 0
    """Training channels that are Pipes, one for each process of a host. The last shard is then a
    file in the channel `evaluation`. With 0 all shards are files."""


def make_base(base: Path, job: JobOnThisMachine, host: str, run: str) -> None:
    """A folder laid out as /opt/ml."""
    config = base / "input" / "config"
    config.mkdir(parents=True)
    groups = [
        {"instance_group_name": name, "instance_type": "ml.c5.large", "hosts": list(hosts)}
        for name, hosts in (job.groups or {"homogeneousCluster": job.hosts}).items()
    ]
    own = next(group for group in groups if host in group["hosts"])
    resource = {
        "current_host": host,
        "current_instance_type": "ml.c5.large",
        "current_group_name": own["instance_group_name"],
        "hosts": list(job.hosts),
        "instance_groups": groups,
        "network_interface_name": "lo",
    }
    (config / "resourceconfig.json").write_text(json.dumps(resource))
    parameters = {
        "sagemaker_program": job.program,
        "sagemaker_job_name": run,
        "tidewheel_strategy": job.strategy,
        **job.hyperparameters,
    }
    if job.groups:
        parameters["sagemaker_distribution_instance_groups"] = list(job.groups)
    encoded = {key: json.dumps(value) for key, value in parameters.items()}
    (config / "hyperparameters.json").write_text(json.dumps(encoded))
    data = base / "input" / "data"
    data.mkdir()
    (data / "code").symlink_to(job.source)
    channel = {"TrainingInputMode": "File", "S3DistributionType": "FullyReplicated"}
    channels = {"code": channel}
    if job.pipes:
        (data / "evaluation").mkdir()
        last = sorted(job.data.iterdir())[-1]
        (data / "evaluation" / last.name).symlink_to(last)
        piped = {**channel, "TrainingInputMode": "Pipe"}
        channels |= {"evaluation": channel, **dict.fromkeys(channels_of(job), piped)}
    else:
        (data / "train").symlink_to(job.data)
        channels["train"] = channel
    (config / "inputdataconfig.json").write_text(json.dumps(channels))
    (base / CHECKPOINTS).mkdir()
    (config / "checkpointconfig.json").write_text('{"LocalPath": "/opt/ml/checkpoints"}')


def channels_of(job: JobOnThisMachine) -> list[str]:
    """The channels' names, as the service chooses them."""
    return ["train", *(f"train-{number}" for number in range(1, job.pipes))]


_FIRST_PORT, _LAST_PORT = 21_000, 32_000
"""Below 32768, where Linux takes the ports of outgoing connections from."""
# Far from those of a process that started beside this one.
_next_port = itertools.count(os.getpid() * 389 % 900 * 10)


def free_ports(count: int = 10) -> int:
    """The first of `count` consecutive ports that are free now; another one at each call."""
    for _ in range(_FIRST_PORT, _LAST_PORT, count):
        offsets = [next(_next_port) for _ in range(count)]
        first = _FIRST_PORT + offsets[0] % (_LAST_PORT - _FIRST_PORT)
        with contextlib.ExitStack() as stack:
            try:
                for port in range(first, first + count):
                    one = stack.enter_context(socket.socket())
                    one.bind(("", port))
            except OSError:
                continue
            return first
    raise RuntimeError(f"no {count} free ports in a row below {_LAST_PORT}")


class Attempt:
    """One attempt: its agents in the order of the hosts."""

    def __init__(self, root: Path, job: JobOnThisMachine) -> None:
        self.job = job
        self.bases = [root / host for host in job.hosts]
        for base, host in zip(self.bases, job.hosts, strict=True):
            make_base(base, job, host, f"{root.parent.name}-{root.name}")
        self.agents: list[subprocess.Popen[bytes]] = []
        self._feeders: list[subprocess.Popen[bytes]] = []

    @property
    def leader(self) -> Path:
        return self.bases[self.job.hosts.index(self.leader_host)]

    @property
    def leader_host(self) -> str:
        return next(iter(self.job.groups.values()))[0] if self.job.groups else self.job.hosts[0]

    def start(self) -> None:
        port = free_ports()
        shards = sorted(self.job.data.iterdir())[:-1]
        for number, name in enumerate(channels_of(self.job) if self.job.pipes else []):
            part = shards[number :: self.job.pipes]
            self._feeders += [feed(base / "input" / "data" / name, part) for base in self.bases]
        for base in self.bases:
            (base / "tmp").mkdir(exist_ok=True)
            with (base / "log").open("ab") as log:
                environment = {
                    **os.environ,
                    "SAGEMAKER_BASE_DIR": str(base),
                    "TIDEWHEEL_MASTER_PORT": str(port),
                    "TIDEWHEEL_GANG_PORT": str(port + 1),
                    "TIDEWHEEL_CPUS": "1",
                    "TIDEWHEEL_GPUS": "0",
                    "TIDEWHEEL_SPOT": "1",
                    "TIDEWHEEL_PEERS_SECONDS": "300",
                    **self.job.environment,
                }
                argv = [str(self.job.python), str(agent_file())]
                self.agents.append(
                    subprocess.Popen(argv, env=environment, stdout=log, stderr=subprocess.STDOUT)
                )

    def progress(self) -> dict[str, Any]:
        path = self.leader / CHECKPOINTS / "tidewheel-progress.json"
        try:
            note: dict[str, Any] = json.loads(path.read_text())
        except (FileNotFoundError, ValueError):
            return {"step": 0}
        return note

    def ended(self) -> bool:
        return any(agent.poll() is not None for agent in self.agents)

    def await_step(self, step: int, seconds: float) -> bool:
        """Whether a checkpoint of that step came before any agent ended."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.progress()["step"] >= step:
                return True
            if self.ended():
                return False
            time.sleep(0.05)
        return False

    def wait(self, seconds: float) -> list[int | None]:
        """Exit codes; None for an agent that still runs."""
        deadline = time.monotonic() + seconds
        codes: list[int | None] = []
        for agent in self.agents:
            try:
                codes.append(agent.wait(max(0.1, deadline - time.monotonic())))
            except subprocess.TimeoutExpired:
                codes.append(None)
        return codes

    def signal(self, number: signal.Signals, hosts: Sequence[int] | None = None) -> None:
        for index in range(len(self.agents)) if hosts is None else hosts:
            self.agents[index].send_signal(number)

    def lose(self, host: int) -> None:
        """Kills every process of the host with -9, as when its machine is gone."""
        for pid in processes_below(self.bases[host]):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def logs(self, last_lines: int = 40) -> str:
        """The end of every host's log."""
        parts = []
        for base in self.bases:
            path = base / "log"
            lines = path.read_text(errors="replace").splitlines() if path.exists() else []
            parts.append("\n".join([f"--- {base.name}", *lines[-last_lines:]]))
        return "\n".join(parts)

    def close(self) -> None:
        """Kills every process of the job."""
        for host in range(len(self.bases)):
            self.lose(host)
        for feeder in self._feeders:
            feeder.kill()
            feeder.wait()
        self.wait(5)


_FEEDER = """
import os, pathlib, sys
prefix, *shards = sys.argv[1:]
os.mkfifo(prefix + "_0")
for epoch in range(100_000):
    with open(f"{prefix}_{epoch}", "wb", buffering=0) as pipe:
        os.mkfifo(f"{prefix}_{epoch + 1}")
        try:
            for shard in shards:
                pipe.write(pathlib.Path(shard).read_bytes())
        except BrokenPipeError:
            pass  # The reader left early.
    os.unlink(f"{prefix}_{epoch}")
"""


def feed(prefix: Path, shards: Sequence[Path]) -> subprocess.Popen[bytes]:
    """Serves the files as a SageMaker Pipe: one FIFO per epoch, with one reader."""
    return subprocess.Popen([sys.executable, "-c", _FEEDER, str(prefix), *map(str, shards)])


def processes_below(base: Path) -> list[int]:
    """Living processes whose environment names this host's folder."""
    needle = f"SAGEMAKER_BASE_DIR={base}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                alive = "State:\tZ" not in (entry / "status").read_text(errors="replace")
                if alive and needle in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found


ROOT = Path(__file__).resolve().parent.parent.parent


@cache
def agent_file() -> Path:
    """Packs the agent once per process, and removes the file at its end.

    On a machine without the project's Node, such as a host with a GPU, it is the agent's folder.
    """
    node = ROOT / "node_modules" / ".bin" / "node"
    if not (ROOT / "package.json").exists():
        return ROOT / "training" / "agent"
    if not node.exists():
        raise FileNotFoundError(f"{node} is not there: run `npm run setup` once")
    folder = Path(tempfile.mkdtemp(prefix="tidewheel-agent-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = folder / "tidewheel.pyz"
    # Hundreds of processes would compile the same sources; pack-agent takes what lies beside them.
    for name in ("agent", "automatic", "instrument"):
        compileall.compile_dir(
            TRAINING / name, quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH
        )
    command = [str(node), str(ROOT / "cli" / "pack-agent.ts"), str(file)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return file
