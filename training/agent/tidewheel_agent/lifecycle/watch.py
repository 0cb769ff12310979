"""The third step: the script runs until it ends, and the other hosts report what ended it."""

import time
from dataclasses import dataclass, replace
from operator import or_
from pathlib import Path

from ..failure_file import LogTail
from ..log import log
from ..supervision.supervisor import ScriptEnd
from .host_run import HostRun
from .prepare import Prepared
from .start import Started

_REPORT_SECONDS = 5.0
_LEADER_REPORT_SECONDS = 60.0
"""For a program that serves the leader's. An MPI proxy ends with 0 while the leader still finds out
that its ranks have failed; on a busy host the leader's report, or its loss, takes this long."""
_WORDS = "terminate called without an active exception"
_ABORTED = 128 + 6
_LAST_LINES = 100


def watch(run: HostRun, prepared: Prepared, started: Started) -> ScriptEnd:
    try:
        end = started.supervisor.run()
        started.limit.record()
    finally:
        started.beside.close()
    launch = prepared.launch
    ranks = launch.processes if launch.has_launcher and run.job.strategy == "ddp" else None
    pid = started.supervisor.pid
    aborted = _aborted_end(end, prepared.tail, prepared.files.ended, pid, ranks)
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
    if end.was_stopped or end.has_hung or end.has_trained_enough or gang.has_one_host:
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


@dataclass(frozen=True)
class _AbortedEnd:
    """Of a script that the C++ runtime aborts after its work was done.

    While Python's interpreter ends, a thread of PyTorch that waits for the interpreter's lock is
    ended by force, and `std::terminate` may answer with SIGABRT. By then the script's own code has
    run to its end; each process notes that (for_scripts/sitecustomize.py).
    """

    is_good: bool
    """False where a process left by `raise SystemExit(...)`: nothing kept its code."""


def _aborted_end(
    end: ScriptEnd, tail: LogTail, ended: Path, pid: int, ranks: int | None
) -> _AbortedEnd | None:
    """None for an end that was no such abort, or that followed an error.

    `pid`: of the started program. `ranks`: those of torchrun on this host; None without it.
    """
    if end.script_code == 0 or end.was_killed or end.was_stopped:
        return None
    if not any(_WORDS in line for line in tail.last_lines(_LAST_LINES)):
        return None
    if ranks is None and end.script_code != _ABORTED:
        return None
    names = [str(pid)] if ranks is None else [f"{pid}-{rank}" for rank in range(ranks)]
    good = [(ended / name).exists() for name in names]
    lost = [(ended / f"{name}.lost").exists() for name in names]
    if not all(map(or_, good, lost)):
        return None
    return _AbortedEnd(is_good=all(good))
