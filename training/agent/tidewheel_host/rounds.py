"""The rounds of a job on this host: meet the others, fetch, train under watch, upload.

The launch is the first round. When hosts are lost the service opens another: the hosts that stay
upload, meet the new ones and resume from the newest checkpoint in the bucket. What the service
promises is in functions/launch/ec2/host-requests.ts.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tidewheel_agent.agent_path import AGENT
from tidewheel_agent.phase import PHASE_FILE
from tidewheel_contract.documents import HostReport

from .aws_cli import DownloadStoppedError
from .container import HostJob, fetch_channels, write_config
from .context import HostContext
from .logs import HostLog
from .rendezvous import HostsMissingError, interface_for, meet
from .report import Reporter
from .requests import Requests
from .uploads import CheckpointSync, upload_all, upload_periodically

GRACE_SECONDS = 75
"""EC2 gives two minutes; the rest is for the last upload, after the agent. An emulated EC2 that
gives less sets TIDEWHEEL_GRACE_SECONDS."""
STOPPED = 143
_PORTS_PER_ROUND = 10
_ROUNDS_OF_PORTS = 100


@dataclass
class Rounds:
    """This host's part in the job, over all rounds."""

    context: HostContext
    job: HostJob
    reporter: Reporter
    requests: Requests
    log: HostLog
    address: str
    deadline: float = field(init=False)
    _rank: int | None = None
    """In the last round. S3 deals some channels out by rank: a new rank means another fetch."""

    _download_seconds: float = 0.0

    def __post_init__(self) -> None:
        self.deadline = time.monotonic() + self.job.maximum_run_seconds

    @property
    def report(self) -> HostReport:
        return self.reporter.report

    @property
    def is_first(self) -> bool:
        return self._rank == 0

    def train(self) -> int:
        """Trains round after round while this host has one; the exit code of the last agent."""
        self.requests.refresh()
        number = self.requests.newest_round
        while True:
            code = self._train_round(number)
            following = self._next_round(number, code)
            if following is None:
                return code
            number = following

    def _train_round(self, number: int) -> int:
        """STOPPED when the round ended before training began."""
        base, aws = self.context.base, self.context.aws
        opened = self.requests.round(number)
        if opened is not None:
            self.deadline = min(self.deadline, time.monotonic() + opened.seconds_left)
        hosts = self._meet(number)
        if hosts is None:
            return STOPPED
        rank = hosts.index(self.address)
        write_config(base, self.job, hosts, self.address, interface_for(self.address), number)
        self.reporter.download(
            self.job.download_bytes,
            lambda: _bytes_of_shards(base / "input" / "data"),
            self.log.write,
        )
        began = time.monotonic()
        stopping = aws.stopping(lambda: self._is_interrupted(number), self.context.poll_seconds)
        try:
            if rank != self._rank:
                self._rank = None
                fetch_channels(stopping, base, self.job, rank)
            self._rank = rank
            if number > 1:
                _clear_results(base)
            # All attempts of the run share this prefix, so a new attempt resumes from it.
            folder = base / "checkpoints"
            checkpoints = CheckpointSync.fetch(stopping, folder, self.job.checkpoint_uri)
        except DownloadStoppedError:
            self.log.write("[tidewheel] this host has to leave: its download ends here")
            return STOPPED
        self._download_seconds = time.monotonic() - began
        self.reporter.change(round=number, failure=None)
        self.reporter.write()
        code = self._run_agent(number, checkpoints)
        missing = upload_all(checkpoints, self.log.write)
        self.reporter.change(unsaved_files=len(missing))
        return code

    def _meet(self, number: int) -> list[str] | None:
        """Addresses of the round's hosts; None when this host must do something else."""
        members = None
        if number > 1:
            members = self._wait_for_members(number)
            if members is not None and self.report.instance_id not in members:
                # This host was launched for a round that never began.
                self.reporter.change(stopped_by="spot")
            if members is None or self.report.stopped_by is not None:
                return None
        return meet(
            self.context.aws,
            f"{self.context.attempt_uri}rendezvous/{number}/",
            self.report.instance_id,
            self.address,
            self.job.nodes,
            self.context.meet_seconds,
            members=members,
            is_interrupted=lambda: self._is_interrupted(number),
        )

    def _wait_for_members(self, number: int) -> list[str] | None:
        give_up = time.monotonic() + self.context.meet_seconds
        while (members := self.requests.members(number)) is None:
            if self._is_interrupted(number):
                return None
            if time.monotonic() > give_up:
                raise HostsMissingError(f"round {number} was opened and never began")
            time.sleep(self.context.poll_seconds)
        return members

    def _is_interrupted(self, number: int) -> bool:
        """Whether this host must leave, or a newer round has been opened."""
        self.requests.refresh()
        self._note_stop_reason(number)
        return self.report.stopped_by is not None or self.requests.newest_round > number

    def _note_stop_reason(self, number: int) -> None:
        """Notes why this host must leave for good; the first reason counts."""
        reasons: list[tuple[str, Callable[[], bool]]] = [
            ("spot", self.context.metadata.has_interruption_notice),
            ("stop", lambda: self.requests.stop),
            ("timeLimit", lambda: time.monotonic() > self.deadline),
            ("spot", lambda: self._is_left_out(number)),
        ]
        if self.report.stopped_by is None:
            reason = next((name for name, holds in reasons if holds()), None)
            self.reporter.change(stopped_by=reason)

    def _is_left_out(self, number: int) -> bool:
        """Whether a newer round goes on without this host, because the service learned before it
        that EC2 reclaims it."""
        newest = self.requests.newest_round
        if newest <= number:
            return False
        opened = self.requests.round(newest)
        if opened is None or self.report.instance_id in opened.stay:
            return False
        members = self.requests.members(newest)
        return members is None or self.report.instance_id not in members

    def _next_round(self, number: int, code: int) -> int | None:
        """The next round of this host; None when its part has ended."""
        if self.report.stopped_by is not None or code not in (0, STOPPED):
            return None
        if self.requests.newest_round > number:
            self.log.write(f"[tidewheel] going on in round {self.requests.newest_round}")
            return self.requests.newest_round
        if code == 0 or not self.job.refills:
            return None
        # The agent left because another host did. This host waits, within a limit of its own, until
        # the service has decided whether to replace that one.
        self.log.write("[tidewheel] a host of the gang is gone: waiting for its replacement")
        give_up = time.monotonic() + self.context.meet_seconds
        while not self._is_interrupted(number) and time.monotonic() < give_up:
            time.sleep(self.context.poll_seconds)
        newer = self.requests.newest_round
        return newer if self.report.stopped_by is None and newer > number else None

    def _run_agent(self, number: int, checkpoints: CheckpointSync) -> int:
        """Runs the agent as a child, which gets the same signals as on SageMaker."""
        job, context = self.job, self.context
        phase_file = context.base / "input" / "config" / "phase"
        phase_file.unlink(missing_ok=True)
        self.reporter.enter("installing")
        agent = subprocess.Popen(
            [sys.executable, str(AGENT)],
            env={
                "TIDEWHEEL_GRACE_SECONDS": str(GRACE_SECONDS),
                **os.environ,
                "TRAINING_JOB_NAME": job.name,
                "AWS_REGION": job.region,
                PHASE_FILE: str(phase_file),
                "TIDEWHEEL_DOWNLOAD_SECONDS": f"{self._download_seconds:.3f}",
                **_ports(number, os.environ),
                **job.environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        reader = threading.Thread(target=self._copy_output, args=(agent,), daemon=True)
        done = threading.Event()
        uploading = (checkpoints, context.sync_seconds, done)
        uploader = threading.Thread(target=upload_periodically, args=uploading, daemon=True)
        for thread in (reader, uploader):
            thread.start()
        try:
            return self._watch(agent, number, phase_file)
        finally:
            done.set()
            uploader.join(timeout=60)
            reader.join(timeout=5)

    def _copy_output(self, agent: subprocess.Popen[str]) -> None:
        assert agent.stdout is not None
        for line in agent.stdout:
            self.log.write(line.rstrip("\n"))

    def _watch(self, agent: subprocess.Popen[str], number: int, phase_file: Path) -> int:
        """SIGTERM tells the agent to stop, SIGUSR1 to ask for a checkpoint."""
        was_stopped = False
        saves, was_in_danger = self.requests.saves, False
        while True:
            code: int | None = None
            with suppress(subprocess.TimeoutExpired):
                code = agent.wait(timeout=self.context.poll_seconds)
            if phase_file.exists():
                self.reporter.enter("script")
            if code is not None:
                return code
            if was_stopped:
                continue
            if self._is_interrupted(number):
                was_stopped = True
                agent.send_signal(signal.SIGTERM)
                continue
            new_saves = self.requests.saves
            is_in_danger = self.context.metadata.has_rebalance_recommendation()
            if new_saves != saves or (is_in_danger and not was_in_danger):
                agent.send_signal(signal.SIGUSR1)
            saves, was_in_danger = new_saves, is_in_danger


def _bytes_of_shards(data: Path) -> int:
    """The channels train and train0, train1 ... hold the shards."""
    total = 0
    for path in data.glob("train*/**/*"):
        with suppress(OSError):  # The AWS CLI renames a file once it is whole.
            total += path.stat().st_size if path.is_file() else 0
    return total


def _ports(number: int, environment: Mapping[str, str]) -> dict[str, str]:
    """Each round has its own ports, so that leftovers of an earlier one cannot connect."""
    offset = _PORTS_PER_ROUND * ((number - 1) % _ROUNDS_OF_PORTS)
    if offset == 0:
        return {}
    master = int(environment.get("TIDEWHEEL_MASTER_PORT") or 7777)
    gang = int(environment.get("TIDEWHEEL_GANG_PORT") or master + 1)
    return {
        "TIDEWHEEL_MASTER_PORT": str(master + offset),
        "TIDEWHEEL_GANG_PORT": str(gang + offset),
    }


def _clear_results(base: Path) -> None:
    """Removes what the last round left: every host starts from the bucket and nothing else."""
    for folder in ("checkpoints", "model", "output"):
        shutil.rmtree(base / folder, ignore_errors=True)
    for folder in ("checkpoints", "model", "output/data"):
        (base / folder).mkdir(parents=True, exist_ok=True)
