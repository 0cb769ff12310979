"""Several hosts of one job on this machine: each a base folder, an agent and an address."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hosts import agent_file, free_ports, processes_below


def wait_until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)


class Cluster:
    """Started agents, in the order of the bases; the first is the leader."""

    def __init__(self, bases: list[Path], **environment: str) -> None:
        port = free_ports(2)
        # AGENT_PYTHON chooses the agent's interpreter and is no variable of the host.
        python = environment.pop("AGENT_PYTHON", sys.executable)
        self.bases = bases
        self.agents = []
        for base in bases:
            log = (base / "log").open("ab")
            self.agents.append(
                subprocess.Popen(
                    [python, str(agent_file())],
                    env={
                        **os.environ,
                        "SAGEMAKER_BASE_DIR": str(base),
                        "TIDEWHEEL_MASTER_PORT": str(port),
                        "TIDEWHEEL_GANG_PORT": str(port + 1),
                        "TIDEWHEEL_CPUS": "1",
                        "TIDEWHEEL_GPUS": "0",
                        **environment,
                    },
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
            )
            log.close()

    def wait(self, seconds: float = 90) -> list[int]:
        """Exit codes of the agents."""
        deadline = time.monotonic() + seconds
        return [agent.wait(max(0.1, deadline - time.monotonic())) for agent in self.agents]

    def log(self, host: int = 0) -> str:
        return (self.bases[host] / "log").read_text(errors="replace")

    def progress(self, host: int = 0) -> dict[str, Any]:
        path = self.bases[host] / "checkpoints" / "tidewheel-progress.json"
        try:
            note: dict[str, Any] = json.loads(path.read_text())
        except FileNotFoundError:
            return {"step": 0}
        return note

    def await_step(self, step: int, seconds: float = 90) -> None:
        def reached() -> bool:
            assert all(agent.poll() is None for agent in self.agents), self.log()
            return bool(self.progress()["step"] >= step)

        wait_until(reached, seconds, f"step {step}")

    def signal_all(self, number: signal.Signals) -> None:
        for agent in self.agents:
            agent.send_signal(number)

    def lose_host(self, host: int) -> None:
        """Kills everything on the host at once, and what was just being started there, too."""
        for _look in range(50):
            there = processes_below(self.bases[host])
            if not there:
                return
            for pid in there:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)

    def close(self) -> None:
        for host, _ in enumerate(self.bases):
            self.lose_host(host)
        for agent in self.agents:
            with contextlib.suppress(subprocess.TimeoutExpired):
                agent.wait(5)


@contextlib.contextmanager
def running(bases: list[Path], **environment: str) -> Iterator[Cluster]:
    """Agents whose processes do not outlive the test, however it ends."""
    cluster = Cluster(bases, **environment)
    try:
        yield cluster
    except BaseException:
        for host, _ in enumerate(bases):
            print(f"--- host {host} ---", cluster.log(host)[-20_000:], sep="\n")
        raise
    finally:
        cluster.close()
