"""The third step: the script runs until it ends, and the other hosts report what ended it."""

from __future__ import annotations

import time
from dataclasses import replace

from ..log import log
from ..supervision.aborted_end import aborted_end
from ..supervision.script_end import ScriptEnd
from .host_run import HostRun
from .prepare import Prepared
from .start import Started

_REPORT_SECONDS = 5.0
_LEADER_REPORT_SECONDS = 60.0
"""For a program that serves the leader's. An MPI proxy ends with 0 while the leader still finds out
that its ranks have failed; on a busy host the leader's report, or its loss, takes this long."""


def watch(run: HostRun, prepared: Prepared, started: Started) -> ScriptEnd:
    try:
        end = started.supervisor.run()
        started.limit.record()
    finally:
        started.watchdog.dismiss()
        started.automatic.close()
        if started.series is not None:
            started.series.close()
        stall_watch = started.stall_watch
        started.usage.close(lambda: {"checkpoints": stall_watch.summary() if stall_watch else None})
    launch = prepared.launch
    ranks = launch.processes if launch.has_launcher and run.job.strategy == "ddp" else None
    pid = started.supervisor.pid
    aborted = aborted_end(end, prepared.tail, prepared.files.ended, pid, ranks)
    if aborted is not None and aborted.is_good:
        log(
            f"{run.job.program} had done its work when PyTorch's threads aborted it "
            f"(exit code {end.script_code}): it counts as finished"
        )
        end = replace(end, script_code=0)
    elif aborted is not None:
        reason = (
            f"{run.job.program} raised SystemExit, and PyTorch's threads aborted it before its "
            "exit code was known: it counts as failed. Leave by sys.exit(code), which is noted"
        )
        log(reason)
        prepared.tail.add(reason)
    end = _with_late_reports(run, prepared, end)
    # The script did all that it was to do, whatever a killed process returns.
    return replace(end, script_code=0) if end.has_trained_enough else end


def _with_late_reports(run: HostRun, prepared: Prepared, end: ScriptEnd) -> ScriptEnd:
    """Waits for the reports of other hosts: a script that ended because of one may be faster."""
    gang, serves = run.gang, prepared.launch.serves
    if end.was_stopped or end.has_trained_enough or gang.has_one_host:
        return end
    # Under a limit of steps another host may have reached it first, and its end is the cause.
    knows_cause = prepared.tail.names_cause() and run.job.script.most_steps is None
    if not serves and (end.script_code == 0 or knows_cause):
        return end
    state = gang.state
    deadline = time.monotonic() + (_LEADER_REPORT_SECONDS if serves else _REPORT_SECONDS)
    while time.monotonic() < deadline:
        leader_ended = serves and run.job.leader in state.exit_codes
        if state.peer_failure or state.stop_reason or state.has_trained_enough or leader_ended:
            break
        time.sleep(0.1)
    return replace(
        end,
        peer_failure=state.peer_failure,
        was_stopped=bool(state.stop_reason),
        has_trained_enough=state.has_trained_enough,
    )
