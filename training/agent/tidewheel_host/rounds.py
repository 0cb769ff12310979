"""One round of a gang on this host: meet the others, fetch, train under watch, save.

The first round is the launch. When hosts are lost the service opens another: those that stay save,
meet the new ones and begin anew from the newest checkpoint in the bucket. See
functions/core/launch/ec2/host-requests.ts for what it promises.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tidewheel_agent.agent_path import AGENT

from .aws_cli import Cloud
from .container import HostJob, fetch_channels, write_config
from .logs import HostLog
from .metadata import Metadata
from .rendezvous import AloneError, interface_for, meet
from .report import Report
from .requests import Asked
from .uploads import Checkpoints, keep_saved, save_all

GRACE_SECONDS = 75
"""EC2 gives two minutes: what is left after the agent is for the last upload."""
STOPPED = 143
_PORTS_A_ROUND = 10
_ROUNDS_OF_PORTS = 100


@dataclass(frozen=True)
class Surroundings:
    """What differs between EC2 and a test on one machine."""

    base: Path
    job_uri: str
    hosts_uri: str
    cloud: Cloud
    metadata: Metadata
    look_seconds: float = 5.0
    sync_seconds: float = 15.0
    meet_seconds: float = 900.0
    """Bound on waiting for the other hosts, at the launch and when lost ones are replaced."""

    @property
    def folder_uri(self) -> str:
        return self.hosts_uri.rstrip("/").rpartition("/")[0] + "/"


def surroundings(environment: dict[str, str]) -> Surroundings:
    def number(name: str, default: float) -> float:
        return float(environment.get(name) or default)

    return Surroundings(
        base=Path(environment.get("SAGEMAKER_BASE_DIR") or "/opt/ml"),
        job_uri=environment["TIDEWHEEL_JOB_URI"],
        hosts_uri=environment["TIDEWHEEL_HOSTS_URI"],
        cloud=Cloud(environment.get("TIDEWHEEL_AWS_PROGRAM") or "aws"),
        metadata=Metadata(environment.get("TIDEWHEEL_METADATA_URL") or "http://169.254.169.254"),
        look_seconds=number("TIDEWHEEL_LOOK_SECONDS", 5),
        sync_seconds=number("TIDEWHEEL_SYNC_SECONDS", 15),
        meet_seconds=number("TIDEWHEEL_MEET_SECONDS", 900),
    )


@dataclass
class Stay:
    """This host's part in the job, over all rounds."""

    around: Surroundings
    job: HostJob
    report: Report
    asked: Asked
    log: HostLog
    address: str
    deadline: float = field(init=False)
    _rank: int | None = None
    """In the last round: what S3 deals out by rank is fetched again when it changes."""

    def __post_init__(self) -> None:
        self.deadline = time.monotonic() + self.job.maximum_run_seconds

    @property
    def is_first(self) -> bool:
        return self._rank == 0

    def train(self) -> int:
        """Rounds until there is no further one for this host; the agent's exit code of the last."""
        self.asked.look()
        number = self.asked.newest_round
        while True:
            code = self._round(number)
            following = self._following(number, code)
            if following is None:
                return code
            number = following

    def _round(self, number: int) -> int:
        """STOPPED when something came between before training began."""
        base, cloud = self.around.base, self.around.cloud
        opened = self.asked.round(number)
        if opened is not None:
            self.deadline = min(self.deadline, time.monotonic() + opened.left_seconds)
        hosts = self._meet(number)
        if hosts is None:
            return STOPPED
        rank = hosts.index(self.address)
        write_config(base, self.job, hosts, self.address, interface_for(self.address), number)
        if rank != self._rank:
            fetch_channels(cloud, base, self.job, rank)
        self._rank = rank
        if number > 1:
            _forget(base)
        # All attempts of the run share the prefix: this is how it resumes.
        checkpoints = Checkpoints.fetch(cloud, base / "checkpoints", self.job.checkpoint_uri)
        self.report.round = number
        self.report.failure = None
        cloud.write(f"{self.around.hosts_uri}{self.report.instance_id}.json", self.report.text())
        code = self._run_agent(number, checkpoints)
        self.report.unsaved = save_all(checkpoints, self.log.write)
        return code

    def _meet(self, number: int) -> list[str] | None:
        """Who trains in this round, by address; None when something else is asked of this host."""
        members = None
        if number > 1:
            members = self._await(lambda: self.asked.members(number), number)
            if members is not None and self.report.instance_id not in members:
                # Launched for a round that did not come to be.
                self.report.stopped_by = "spot"
            if members is None or self.report.stopped_by is not None:
                return None
        return meet(
            self.around.cloud,
            f"{self.around.folder_uri}rendezvous/{number}/",
            self.report.instance_id,
            self.address,
            self.job.nodes,
            self.around.meet_seconds,
            members=members,
            disturbed=lambda: self._is_disturbed(number),
        )

    def _await(self, word: Callable[[], list[str] | None], number: int) -> list[str] | None:
        give_up = time.monotonic() + self.around.meet_seconds
        while (said := word()) is None:
            if self._is_disturbed(number):
                return None
            if time.monotonic() > give_up:
                raise AloneError(f"round {number} was opened and never began")
            time.sleep(self.around.look_seconds)
        return said

    def _is_disturbed(self, number: int) -> bool:
        self.asked.look()
        self._note_reason(number)
        return self.report.stopped_by is not None or self.asked.newest_round > number

    def _note_reason(self, number: int) -> None:
        """Why this host is to leave for good, once there is a reason; the first one counts."""
        reasons: list[tuple[str, Callable[[], bool]]] = [
            ("spot", self.around.metadata.taken_back),
            ("stop", lambda: self.asked.stop),
            ("timeLimit", lambda: time.monotonic() > self.deadline),
            ("spot", lambda: self._is_left_out(number)),
        ]
        if self.report.stopped_by is None:
            self.report.stopped_by = next((name for name, holds in reasons if holds()), None)

    def _is_left_out(self, number: int) -> bool:
        """Whether a newer round goes on without this host: the service has heard before it that
        EC2 wants it back."""
        newest = self.asked.newest_round
        if newest <= number:
            return False
        opened = self.asked.round(newest)
        if opened is None or self.report.instance_id in opened.stay:
            return False
        members = self.asked.members(newest)
        return members is None or self.report.instance_id not in members

    def _following(self, number: int, code: int) -> int | None:
        """The next round for this host; None when it has ended here."""
        if self.report.stopped_by is not None or code not in (0, STOPPED):
            return None
        if self.asked.newest_round > number:
            self.log.write(f"[tidewheel] going on in round {self.asked.newest_round}")
            return self.asked.newest_round
        if code == 0 or not self.job.refills:
            return None
        # Its agent left because another host did. Until it is known whether that one is replaced,
        # this one stays; the service takes its time too, so it has a bound of its own.
        self.log.write("[tidewheel] a host of the gang is gone: waiting for another")
        give_up = time.monotonic() + self.around.meet_seconds
        while not self._is_disturbed(number) and time.monotonic() < give_up:
            time.sleep(self.around.look_seconds)
        newer = self.asked.newest_round
        return newer if self.report.stopped_by is None and newer > number else None

    def _run_agent(self, number: int, checkpoints: Checkpoints) -> int:
        """The agent as a child; what ends it is told to it as SageMaker tells it, by SIGTERM."""
        job, around = self.job, self.around
        agent = subprocess.Popen(
            [sys.executable, str(AGENT)],
            env={
                **os.environ,
                "TIDEWHEEL_GRACE_SECONDS": str(GRACE_SECONDS),
                "TRAINING_JOB_NAME": job.name,
                "AWS_REGION": job.region,
                **_ports(number, os.environ),
                **job.environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        reader = threading.Thread(target=self._follow, args=(agent,), daemon=True)
        done = threading.Event()
        saving = (checkpoints, around.sync_seconds, done)
        keeper = threading.Thread(target=keep_saved, args=saving, daemon=True)
        for thread in (reader, keeper):
            thread.start()
        try:
            return self._watch(agent, number)
        finally:
            done.set()
            keeper.join(timeout=60)
            reader.join(timeout=5)

    def _follow(self, agent: subprocess.Popen[str]) -> None:
        assert agent.stdout is not None
        for line in agent.stdout:
            self.log.write(line.rstrip("\n"))

    def _watch(self, agent: subprocess.Popen[str], number: int) -> int:
        told = False
        saves, in_danger = self.asked.saves, False
        while True:
            with suppress(subprocess.TimeoutExpired):
                return agent.wait(timeout=self.around.look_seconds)
            if told:
                continue
            if self._is_disturbed(number):
                told = True
                agent.send_signal(signal.SIGTERM)
                continue
            asked, danger = self.asked.saves, self.around.metadata.is_in_danger()
            if asked != saves or (danger and not in_danger):
                agent.send_signal(signal.SIGUSR1)
            saves, in_danger = asked, danger


def _ports(number: int, environment: os._Environ[str]) -> dict[str, str]:
    """Others in each round: what is left of an earlier one must not be met."""
    offset = _PORTS_A_ROUND * ((number - 1) % _ROUNDS_OF_PORTS)
    if offset == 0:
        return {}
    master = int(environment.get("TIDEWHEEL_MASTER_PORT") or 7777)
    gang = int(environment.get("TIDEWHEEL_GANG_PORT") or master + 1)
    return {
        "TIDEWHEEL_MASTER_PORT": str(master + offset),
        "TIDEWHEEL_GANG_PORT": str(gang + offset),
    }


def _forget(base: Path) -> None:
    """What the round before left: everyone begins with what the bucket has, and nothing else."""
    for folder in ("checkpoints", "model", "output"):
        shutil.rmtree(base / folder, ignore_errors=True)
    for folder in ("checkpoints", "model", "output/data"):
        (base / folder).mkdir(parents=True, exist_ok=True)
