"""Watches the script until it ends, keeps the Spot contract on the way, and says how it ended."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..checkpoints.checkpoint import Checkpoint
from ..checkpoints.progress import ProgressReporter
from ..checkpoints.stall_watch import StallWatch
from ..files import write_atomically
from ..gang.state import GangState, PeerFailure
from ..log import iso, log
from .script import Script

EXIT_STOPPED = 143
"""128 + SIGTERM, the code of any container without a handler that is stopped: the platform takes
it for a stop. 0 would say that training has finished, 1 that the script is at fault."""


@dataclass(frozen=True)
class ScriptEnd:
    script_code: int
    """The script's own exit code."""
    was_stopped: bool
    """A stop was requested before the script ended."""
    newest: Checkpoint | None
    was_killed: bool = False
    """The agent had to end the script."""
    heard_nothing: bool = False
    """No process got the signal, and the script does not ask for the stop file."""
    peer_failure: PeerFailure | None = None
    """Another host failed or was lost before the script ended."""

    has_trained_enough: bool = False
    """The job is limited to a number of steps, which were made."""

    has_hung: bool = False
    """No host did anything for as long as the job allows, so the agents ended it."""

    left_unsaved: bool = False
    """It left by itself after SIGTERM, and saved nothing on the way."""

    @property
    def has_finished_unaware(self) -> bool:
        """It ended well by itself, and had no other reason to end than its own end."""
        ended_well = self.script_code == 0 and not self.was_killed and self.peer_failure is None
        return self.was_stopped and self.heard_nothing and ended_well

    @property
    def exit_code(self) -> int:
        """The script's own; 143 after a stop, unless it has finished: a checkpoint proves the last
        step done, or it heard nothing of the stop and ended well."""
        if self.has_trained_enough:
            return 0
        if not self.was_stopped or self.has_finished_unaware:
            return self.script_code
        total = self.newest.total_steps if self.newest else None
        is_finished = total is not None and self.newest is not None and self.newest.step >= total
        return 0 if is_finished and self.script_code == 0 else EXIT_STOPPED


class StopRequest:
    def __init__(self) -> None:
        self._is_set = False
        self.reason = ""
        self.requested_at = 0.0
        """Unix seconds."""
        self._listener: Callable[[str], None] | None = None

    def set(self, reason: str) -> None:
        """The first reason counts. Takes no lock, because a signal handler may call it."""
        if not self._is_set:
            self.reason, self.requested_at = reason, time.time()
            self._is_set = True

    def on_set(self, listener: Callable[[str], None]) -> None:
        self._listener = listener

    def acknowledge(self) -> None:
        """Calls the listener once, outside the signal handler."""
        if self._listener is not None:
            listener, self._listener = self._listener, None
            listener(self.reason)

    def is_set(self) -> bool:
        return self._is_set


_NO_HANDLER = "has no SIGTERM handler"
_TICK_SECONDS = 0.2
CHECK_SECONDS = 1.0
KILL_NOTICE_SECONDS = 3.0
_JUST_SAVED_SECONDS = 10.0
"""A script that has saved so shortly before a stop has little to save."""
_PEER_WORD_SECONDS = 3.0
"""A lost host's script may take this one's with it before its agent's connection breaks."""
_PEER_PATIENCE_SECONDS = 10.0
"""The script's time to notice by itself that another host is gone, and to say so."""


@dataclass(frozen=True)
class Rules:
    """What this job asks of the supervisor."""

    stop_file: Path
    grace_seconds: float
    can_save: bool
    """The job has a checkpoint folder."""
    may_ask: bool = True
    """The script may look at the stop file, so that leaving with 0 after a stop proves nothing."""
    withholds_sigterm: bool = False
    """The script would leave on it without saving: it runs to its next checkpoint instead."""
    has_peers: bool = False
    """Other hosts train, too."""
    serves_until: Callable[[], bool] | None = None
    """For a program that only serves the leader's script: whether the leader has ended."""
    check_seconds: float = CHECK_SECONDS
    """Between two looks at checkpoints, and at whether the script hangs."""
    hung_notice_seconds: float = KILL_NOTICE_SECONDS
    late_checkpoint_seconds: float = 0.0
    """Wait after the end for another host's message about a last checkpoint."""


class Supervisor:
    def __init__(
        self,
        script: Script,
        progress: ProgressReporter,
        stop: StopRequest,
        gang: GangState,
        rules: Rules,
        *,
        stall_watch: StallWatch | None = None,
        on_check: Callable[[Checkpoint | None], None] = lambda newest: None,
        has_trained_enough: Callable[[], bool] = lambda: False,
        knows_cause: Callable[[], bool] = lambda: False,
    ) -> None:
        """`on_check` gets the newest checkpoint at each look; `has_trained_enough` tells whether
        the steps are made that the job is limited to; `knows_cause` whether no other host can be
        the cause of a failure."""
        self._script = script
        self._progress = progress
        self._stop = stop
        self._gang = gang
        self._rules = rules
        self._stall_watch = stall_watch
        self._on_check = on_check
        self._has_trained_enough = has_trained_enough
        self._knows_cause = knows_cause
        self._peer_failed_at: float | None = None
        self._deadline: float | None = None
        self._next_check = 0.0
        self._was_killed = False

    @property
    def pid(self) -> int:
        """Of the script's first process."""
        return self._script.pid

    def run(self) -> ScriptEnd:
        serves_until = self._rules.serves_until
        while (code := self._script.wait(_TICK_SECONDS)) is None:
            if serves_until is not None and serves_until():
                self._end_script(0.0)
            elif self._has_trained_enough():
                self._end_script(KILL_NOTICE_SECONDS)
            elif self._gang.has_hung and self._deadline is None:
                # Hosts that have ended for it may have brought a stop request already.
                log("ending the script, which hangs: no host computes or prints")
                self._end_script(self._rules.hung_notice_seconds)
            elif self._stop.is_set():
                self._keep_contract()
            elif self._gang.peer_failure:
                self._follow(self._gang.peer_failure)
            if time.monotonic() >= self._next_check:
                self._script.note_names()
                self._on_check(self._check())
                self._next_check = time.monotonic() + self._rules.check_seconds
        # Processes that the script leaves behind would hold the container and train on unseen.
        self._script.kill()
        self._script.drain()
        if code != 0 and self._rules.has_peers and not self._knows_cause():
            self._await_word_of_peers()
        time.sleep(self._rules.late_checkpoint_seconds)
        newest = self._check()
        return ScriptEnd(
            code,
            self._stop.is_set(),
            newest,
            self._was_killed,
            heard_nothing=not self._rules.may_ask and not self._script.was_signalled,
            peer_failure=self._gang.peer_failure,
            has_trained_enough=self._has_trained_enough(),
            has_hung=self._has_hung(code),
            left_unsaved=self._has_left_unsaved(newest),
        )

    def _await_word_of_peers(self) -> None:
        deadline = time.monotonic() + _PEER_WORD_SECONDS
        while time.monotonic() < deadline and not (
            self._was_killed
            or self._stop.is_set()
            or self._gang.has_hung
            or self._gang.peer_failure
        ):
            time.sleep(_TICK_SECONDS)

    def _has_hung(self, code: int) -> bool:
        """It may also have failed because another host's script was ended first."""
        return self._gang.has_hung and not self._stop.is_set() and (self._was_killed or code != 0)

    def _check(self) -> Checkpoint | None:
        newest = self._progress.check()
        if self._stall_watch is not None:
            for line in self._stall_watch.observe(time.time(), newest, self._progress.save_seconds):
                log(line)
        return newest

    def _keep_contract(self) -> None:
        """Signals the script's processes, gives them the grace to save, then ends the script."""
        if self._deadline is None:
            self._deadline = self._announce_stop()
        if not self._withholds_sigterm:
            for pid in self._script.forward_sigterm():
                log(f"SIGTERM passed on to process {pid}")
        if time.time() >= self._deadline:
            log("the grace is over and the script still runs: killing it")
            self._end_script(0.0)
        elif self._rules.serves_until is not None:
            pass  # The leader's script saves through this host, which serves it until it has left.
        elif not self._script.was_signalled and self._has_nothing_to_wait_for():
            self._end_script(KILL_NOTICE_SECONDS)

    def _follow(self, failure: PeerFailure) -> None:
        """Without one of its hosts the gang cannot go on, so its script must not hang."""
        if self._peer_failed_at is None:
            self._peer_failed_at = time.monotonic()
            what = "is lost" if failure.is_lost else f"failed with exit code {failure.exit_code}"
            seconds = f"{_PEER_PATIENCE_SECONDS:g} s"
            log(f"host {failure.host} {what}: the script has {seconds} to end")
        elif time.monotonic() - self._peer_failed_at >= _PEER_PATIENCE_SECONDS:
            log("ending the script, which still waits for the lost host")
            self._end_script(KILL_NOTICE_SECONDS)

    def _announce_stop(self) -> float:
        """Writes the stop file; returns the deadline in Unix seconds."""
        self._stop.acknowledge()
        grace_seconds = self._rules.grace_seconds
        deadline = self._stop.requested_at + grace_seconds
        document = {
            "reason": self._stop.reason,
            "requestedAt": iso(self._stop.requested_at),
            "deadline": iso(deadline),
            "deadlineUnixSeconds": round(deadline, 3),
            "graceSeconds": grace_seconds,
        }
        write_atomically(self._rules.stop_file, json.dumps(document) + "\n")
        log(f"{self._stop.reason}: the script has {grace_seconds:g} s to save and leave")
        if self._withholds_sigterm:
            log("it gets no SIGTERM, on which it would leave without saving: it may save once more")
        return deadline

    @property
    def _withholds_sigterm(self) -> bool:
        return self._rules.withholds_sigterm and self._rules.can_save

    def _has_left_unsaved(self, newest: Checkpoint | None) -> bool:
        if not self._stop.is_set() or self._was_killed or not self._script.was_signalled:
            return False
        saved_at = newest.saved_at if newest is not None else 0.0
        return saved_at < self._stop.requested_at - _JUST_SAVED_SECONDS

    def _has_nothing_to_wait_for(self) -> bool:
        """A script without a SIGTERM handler may run to its next checkpoint, and is ended there."""
        if not self._rules.can_save:
            log("the script has no SIGTERM handler and the job no checkpoint folder: ending it")
            return True
        newest = self._progress.check()
        if newest is not None and newest.holds_state_after(self._stop.requested_at):
            why = "would leave on SIGTERM unsaved" if self._withholds_sigterm else _NO_HANDLER
            log(f"the script {why}; {newest.name} is new and complete: ending it")
            return True
        return False

    def _end_script(self, notice_seconds: float) -> None:
        self._was_killed = True
        self._script.kill(notice_seconds)
