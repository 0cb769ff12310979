"""Restores a first checkpoint of the running script in a second process, and compares the two.

The hooks write what they need into the trial's folder; tidewheel_automatic/trial.py is the other
side. A script that cannot be restored is found before its first interruption. In a gang each host
restores its own ranks; the leader starts them together and judges. Whatever becomes of the second
process, the training goes on.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tidewheel_contract.documents import AutomaticNoteTrial
from tidewheel_contract.trial import LATER, VERDICT

from ..files import write_atomically
from ..gang.gang import Gang
from ..gang.state import Message
from ..log import log
from ..supervision.script import Script
from .note import add_to_automatic, trial_result
from .second_process import Report, SecondProcess, describe_names

_LEAST_SECONDS = 60.0
_MOST_SECONDS = 900.0
_STARTS = 3.0
"""The second process may take so many times what the script took to the trial's checkpoint."""
_OTHERS_SECONDS = 60.0
"""For the hosts of a gang that are ready or have ended later than another one."""
_CAUSE_SECONDS = 5.0
"""A host on which the second process lost another one's waits so long for that one's reason."""
_AGAIN_SECONDS = 2.0
"""A message to a host that is not connected is lost, so orders and reports are repeated."""
_END = 0


class Trial:
    """The leader's, or that of a script on one host. Call `check` often; it returns at once."""

    def __init__(
        self,
        folder: Path,
        second: SecondProcess,
        notes: Path,
        attempt: int,
        hosts: Sequence[str] = ("",),
        gang: Gang | None = None,
    ) -> None:
        """`notes`: the checkpoint folder, where the verdict goes. `hosts`: this one first."""
        self._folder = folder
        self._second = second
        self._notes = notes
        self._attempt = attempt
        self._hosts = hosts
        self._gang = gang
        self._created_at = time.monotonic()
        self._began_at = 0.0
        self._limit_seconds = 0.0
        self._deadline = float("inf")
        self._round = 0
        """0: the ranks of the training save. 1 and 2: the first and the second restore."""
        self._reports: dict[str, Report] = {}
        self._untried_at: float | None = None
        self._order: Message = {}
        self._ordered_at = 0.0
        self._result = ""
        self.is_over = False

    def later(self) -> Trial | None:
        """The trial in a later epoch, once this one has not failed. A gang is tried once."""
        if self._result in ("", "refused") or self._gang is not None:
            return None
        folder = self._folder / LATER
        second = self._second.later(folder)
        trial = Trial(folder, second, self._notes, self._attempt, self._hosts)
        trial._created_at = self._created_at
        return trial

    def check(self, script: Script) -> None:
        if self.is_over:
            return
        try:
            self._go_on(script)
        except OSError as error:  # Such as no memory for a further process.
            reason = f"the second process cannot be started ({error.strerror})"
            self._decide("untried", reason)

    def close(self) -> None:
        """The script or its checkpoints end: so does the trial, without a verdict."""
        if not self.is_over and self._gang is not None:
            self._gang.send_trial_order({"round": _END})
        self.is_over = True
        self._second.close()

    def _go_on(self, script: Script) -> None:
        own = self._second.look(script)
        if own is not None:
            self._reports[self._hosts[0]] = own
        if self._gang is not None:
            self._hear(self._gang)
        if self._round == 0 and self._reports and not self._began_at:
            self._began_at = time.monotonic()
            self._deadline = self._began_at + _OTHERS_SECONDS
            limit = _STARTS * (self._began_at - self._created_at)
            self._limit_seconds = min(_MOST_SECONDS, max(_LEAST_SECONDS, limit))
        if not self._has_failed():
            self._next_round(script)
        if not self.is_over:
            self._give_order()

    def _hear(self, gang: Gang) -> None:
        for host, message in list(gang.state.trial_reports.items()):
            report = read_report(message)
            is_of_now = message.get("round") == self._round and host in self._hosts
            if report is not None and is_of_now and host not in self._reports:
                self._reports[host] = report

    def _has_failed(self) -> bool:
        """Whether one host's report, or a missing one, decides."""
        for report in self._reports.values():
            if report.result == "refused":
                self._decide("refused", report.reason)
                return True
        untried = [each for each in self._reports.values() if each.result == "untried"]
        now = time.monotonic()
        if untried:
            self._untried_at = self._untried_at or now
            is_told = len(self._reports) == len(self._hosts)
            if is_told or self._round == 0 or now - self._untried_at > _CAUSE_SECONDS:
                self._decide("untried", untried[0].reason)
                return True
        elif now > self._deadline:
            missing = [host for host in self._hosts if host not in self._reports]
            self._decide("untried", f"host {', '.join(missing)} took no part in it in time")
            return True
        return False

    def _next_round(self, script: Script) -> None:
        if len(self._reports) < len(self._hosts) or self._untried_at is not None:
            return
        results = [report.result for report in self._reports.values()]
        if self._round == 0 or (self._round == 1 and "differs" in results):
            self._start(script)
        elif "unstable" in results:
            self._decide("passed", "two restores differ, so the script itself is not deterministic")
        elif "differs" in results:
            names = tuple(name for each in self._reports.values() for name in each.names)
            said = describe_names(names)
            self._decide("refused", f"restored, it continues with other values in {said}")
        else:
            self._decide("passed", "")

    def _start(self, script: Script) -> None:
        self._round += 1
        self._reports.clear()
        seconds = self._limit_seconds
        self._deadline = time.monotonic() + seconds + _OTHERS_SECONDS
        port = _free_port(self._hosts[0])
        self._order = {"round": self._round, "port": port, "seconds": seconds}
        self._ordered_at = 0.0
        self._give_order()
        self._second.start(script, port, seconds)

    def _give_order(self) -> None:
        now = time.monotonic()
        if self._gang is None or not self._order or now < self._ordered_at + _AGAIN_SECONDS:
            return
        self._ordered_at = now
        self._gang.send_trial_order(self._order)

    def _decide(self, result: Literal["passed", "refused", "untried"], reason: str) -> None:
        self.close()
        seconds = round(time.monotonic() - self._began_at, 1) if self._began_at else 0.0
        step = self._second.step
        said = f": {reason}" if reason else ""
        log(f"trial of automatic checkpoints at step {step}, {seconds:g} s: {result}{said}")
        if result != "untried" or trial_result(self._notes) != "passed":
            fact = AutomaticNoteTrial(
                attempt=self._attempt, step=step, seconds=seconds, result=result, reason=reason
            )
            add_to_automatic(self._notes, trial=fact)
        self._result = result
        write_atomically(self._folder / VERDICT, json.dumps({"result": result, "reason": reason}))


class TrialElsewhere:
    """A host's part of the trial that the leader conducts."""

    def __init__(self, second: SecondProcess, gang: Gang) -> None:
        self._second = second
        self._gang = gang
        self._round = 0
        self._report: Message = {}
        self._reported_at = 0.0
        self.is_over = False

    def check(self, script: Script) -> None:
        if self.is_over:
            return
        try:
            self._obey(script)
            report = self._second.look(script)
        except OSError as error:
            report = Report("untried", f"the second process cannot be started ({error.strerror})")
        if report is not None:
            self._reported_at = 0.0
            self._report = {
                "round": self._round,
                "result": report.result,
                "reason": report.reason[:400],
                "names": [name[:200] for name in report.names],
            }
        now = time.monotonic()
        if self._report and now >= self._reported_at + _AGAIN_SECONDS:
            self._reported_at = now
            self._gang.send_trial_report(self._report)

    def close(self) -> None:
        self.is_over = True
        self._second.close()

    def _obey(self, script: Script) -> None:
        order = self._gang.state.trial_order
        number, port, seconds = order.get("round"), order.get("port"), order.get("seconds")
        if number == _END:
            self.close()
        elif isinstance(number, int) and number > self._round and isinstance(port, int):
            self._round, self._report = number, {}
            limit = seconds if isinstance(seconds, (int, float)) else _LEAST_SECONDS
            self._second.start(script, port, float(limit))


def read_report(message: Message) -> Report | None:
    """None where another host's message is none."""
    result, names = message.get("result"), message.get("names")
    for known in ("ready", "same", "differs", "unstable", "refused", "untried"):
        if result == known:
            texts = tuple(str(name) for name in names) if isinstance(names, list) else ()
            return Report(known, str(message.get("reason", "")), texts)
    return None


def _free_port(host: str) -> int:
    """On the leader, where the ranks of the second process meet."""
    with socket.socket() as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            probe.bind(("", 0))
        return int(probe.getsockname()[1])
