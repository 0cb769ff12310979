"""Runs the script to its end and keeps the Spot contract on the way."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..checkpoints.checkpoint import Checkpoint
from ..checkpoints.progress import ProgressReporter, write_whole
from ..checkpoints.stall_watch import CheckpointWatch
from ..gang.gang import GangView, Trouble
from ..log import iso, say
from .script import Script

_TICK_SECONDS = 0.2
_LOOK_SECONDS = 1.0
_KILL_NOTICE_SECONDS = 3.0
_PEER_PATIENCE_SECONDS = 10.0
"""What a script gets to notice by itself that another host is gone, and to say so."""
EXIT_STOPPED = 143
"""128 + SIGTERM: what any container without a handler says when it is stopped, so the platform
knows it as a stop. 0 would say that the training is finished, 1 that the script is at fault."""


class StopRequest:
    """Set by the signal handler or by another host; read by the loop."""

    def __init__(self) -> None:
        self._set = False
        self.reason = ""
        self.at = 0.0
        self._listener: Callable[[str], None] | None = None

    def set(self, reason: str) -> None:
        """The first reason counts. Takes no lock: it may run inside a signal handler."""
        if not self._set:
            self.reason, self.at = reason, time.time()
            self._set = True

    def on_set(self, listener: Callable[[str], None]) -> None:
        self._listener = listener

    def acknowledge(self) -> None:
        """Tells the listener, once, from the loop."""
        if self._listener is not None:
            listener, self._listener = self._listener, None
            listener(self.reason)

    def is_set(self) -> bool:
        return self._set


@dataclass(frozen=True)
class End:
    """How the script ended."""

    script_code: int
    stopped: bool
    """We were told to leave before it ended."""
    newest: Checkpoint | None
    killed: bool = False
    """We had to end it."""
    trouble: Trouble | None = None
    """Another host failed or vanished before this one ended."""

    @property
    def exit_code(self) -> int:
        """The script's own code; 143 after a stop, unless the training is provably finished."""
        if not self.stopped:
            return self.script_code
        total = self.newest.total_steps if self.newest else None
        finished = total is not None and self.newest is not None and self.newest.step >= total
        return 0 if finished and self.script_code == 0 else EXIT_STOPPED


class Supervisor:
    def __init__(
        self,
        script: Script,
        progress: ProgressReporter,
        stop: StopRequest,
        gang: GangView,
        watch: CheckpointWatch | None,
        *,
        stop_file: Path,
        grace_seconds: float,
        can_save: bool,
        serves_until: Callable[[], bool] | None = None,
        on_look: Callable[[Checkpoint | None], None] = lambda newest: None,
        news_seconds: float = 0.0,
    ) -> None:
        """`serves_until`: the program only serves the leader's script, and ends when this says
        that the leader has ended. `on_look`: told of the newest checkpoint every second.
        `news_seconds`: waited for another host's word of a last checkpoint."""
        self._script = script
        self._progress = progress
        self._stop = stop
        self._gang = gang
        self._watch = watch
        self._trouble_since: float | None = None
        self._stop_file = stop_file
        self._grace_seconds = grace_seconds
        self._can_save = can_save
        self._serves_until = serves_until
        self._on_look = on_look
        self._news_seconds = news_seconds
        self._deadline: float | None = None
        self._next_look = 0.0
        self._killed = False

    def run(self) -> End:
        while (code := self._script.wait(_TICK_SECONDS)) is None:
            if self._serves_until is not None and self._serves_until():
                self._end_script(0.0)
            elif self._stop.is_set():
                self._keep_contract()
            elif self._gang.trouble:
                self._follow(self._gang.trouble)
            if time.monotonic() >= self._next_look:
                newest = self._progress.look()
                self._tell_of(newest)
                self._on_look(newest)
                self._next_look = time.monotonic() + _LOOK_SECONDS
        # Whatever the script left behind would hold the container, and train on unseen.
        self._script.kill()
        self._script.drain()
        time.sleep(self._news_seconds)
        newest = self._progress.look()
        self._tell_of(newest)
        return End(code, self._stop.is_set(), newest, self._killed, self._gang.trouble)

    def _tell_of(self, newest: Checkpoint | None) -> None:
        if self._watch is not None:
            for line in self._watch.observe(time.time(), newest, self._progress.save_seconds):
                say(line)

    def _keep_contract(self) -> None:
        if self._deadline is None:
            self._deadline = self._begin()
        for pid in self._script.forward_sigterm():
            say(f"SIGTERM passed on to process {pid}")
        if time.time() >= self._deadline:
            say("the grace is over and the script is still there: killing it")
            self._end_script(0.0)
        elif self._serves_until is not None:
            pass  # The leader's script saves through this host: it is served until it has left.
        elif not self._script.was_heard and self._has_nothing_to_wait_for():
            self._end_script(_KILL_NOTICE_SECONDS)

    def _follow(self, trouble: Trouble) -> None:
        """Without one of its hosts the gang cannot go on: ends soon instead of hanging."""
        if self._trouble_since is None:
            self._trouble_since = time.monotonic()
            how = "is lost" if trouble.is_lost else f"failed with exit code {trouble.code}"
            say(f"host {trouble.host} {how}: the script has {_PEER_PATIENCE_SECONDS:g} s to end")
        elif time.monotonic() - self._trouble_since >= _PEER_PATIENCE_SECONDS:
            say("ending the script, which still waits for the lost host")
            self._end_script(_KILL_NOTICE_SECONDS)

    def _begin(self) -> float:
        self._stop.acknowledge()
        deadline = self._stop.at + self._grace_seconds
        document = {
            "reason": self._stop.reason,
            "requestedAt": iso(self._stop.at),
            "deadline": iso(deadline),
            "deadlineUnixSeconds": round(deadline, 3),
            "graceSeconds": self._grace_seconds,
        }
        write_whole(self._stop_file, json.dumps(document) + "\n")
        say(f"{self._stop.reason}: the script has {self._grace_seconds:g} s to save and leave")
        return deadline

    def _has_nothing_to_wait_for(self) -> bool:
        """A script that listens to nothing is let run to its next checkpoint, then ended."""
        if not self._can_save:
            say("the script has no SIGTERM handler and the job no checkpoint folder: ending it")
            return True
        newest = self._progress.look()
        if newest is not None and newest.saved_at > self._stop.at:
            say(f"the script has no SIGTERM handler; {newest.name} is new and complete: ending it")
            return True
        return False

    def _end_script(self, notice_seconds: float) -> None:
        self._killed = True
        self._script.kill(notice_seconds)
