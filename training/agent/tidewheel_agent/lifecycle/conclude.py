"""The last step: the exit code and the failure text that tell the truth about the end."""

from __future__ import annotations

from ..automatic.exchange import read_failed_resume
from ..configuration.job import Job
from ..exit_codes import describe_signal
from ..failure_file import failure_text
from ..gang.state import PeerFailure
from ..log import log
from ..platform_failure import platform_failure, speaks_of_full_disk
from ..supervision.script_end import ScriptEnd
from ..supervision.sigterm_note import note_left_unsaved
from .host_run import HostRun
from .model_folder import give_names_in_utf8, missing_model, remove_what_cannot_be_kept
from .outcome import Outcome, peer_failed
from .prepare import Prepared

_EXIT_WITHOUT_MODEL = 1


def conclude(run: HostRun, prepared: Prepared, end: ScriptEnd) -> Outcome:
    if prepared.launch.serves:
        exit_codes, leader = run.gang.state.exit_codes, run.job.leader
        if leader in exit_codes and not end.peer_failure:
            log(f"host {leader}, which this one served, ended with {exit_codes[leader]}")
            return Outcome(exit_codes[leader])
        cause = peer_failure_behind(end)
        if cause is not None:
            return peer_failed(cause, _what_is_safe(run.job, end))
    give_names_in_utf8(run.job.base / "model")
    removed = remove_what_cannot_be_kept(run.job.base / "model")
    outcome = judge(run.job, end, prepared)
    ended_well = outcome.exit_code == 0 and (not end.was_stopped or end.has_finished_unaware)
    # A script that was ended on its way has written no model.
    needs_model = run.settings.needs_model and not end.has_trained_enough
    problem = missing_model(run.job, removed) if ended_well and needs_model else None
    if problem is None:
        return outcome
    log(problem)
    return Outcome(_EXIT_WITHOUT_MODEL, f"{problem}\n")


def peer_failure_behind(end: ScriptEnd) -> PeerFailure | None:
    """Another host's failure, if it explains how a serving program ended here.

    It does when the program ended well although the script it served did not, and always when a
    host was lost: what a service reports then follows from the loss (Ray reports it at length).
    """
    if end.peer_failure is None or end.was_stopped:
        return None
    explains = end.script_code == 0 or end.peer_failure.is_lost
    return end.peer_failure if explains else None


def judge(job: Job, end: ScriptEnd, prepared: Prepared) -> Outcome:
    """The outcome of a host that ran the user's script."""
    safe, tail = _what_is_safe(job, end), prepared.tail
    if end.has_trained_enough:
        log(f"{job.program} has made {job.script.most_steps} steps, the limit of this job; {safe}")
        return Outcome(0)
    if end.has_finished_unaware:
        log(f"{job.program} finished before the stop reached it; {safe}")
        return Outcome(0)
    if end.was_stopped:
        how = "was ended" if end.was_killed else f"left with exit code {end.script_code}"
        log(f"stopped: the script {how}; {safe}; exit code {end.exit_code}")
        _remember_signal(job, end)
        return Outcome(end.exit_code)
    if end.script_code == 0 and not end.was_killed:
        log(f"{job.program} finished; {safe}")
        return Outcome(0)
    if end.peer_failure is not None and (end.was_killed or not tail.names_cause()):
        return peer_failed(end.peer_failure, safe)
    log(f"{job.program} failed with exit code {end.script_code}; {safe}")
    resume = read_failed_resume(prepared.files.automatic)
    summary = _failure_summary(job, end.script_code) + (f"; {resume}" if resume else "")
    text = failure_text(summary, tail)
    is_full = any(speaks_of_full_disk(line) for line in tail.traceback()[-1:])
    return Outcome(end.script_code, platform_failure("disk", text) if is_full else text)


def _remember_signal(job: Job, end: ScriptEnd) -> None:
    """A script that saves at other times is let run to its next save by later attempts."""
    if not end.left_unsaved or not job.is_leader or job.checkpoint_dir is None:
        return
    log("the script left on SIGTERM without saving: what it did since its last checkpoint is lost")
    if end.newest is not None:
        note_left_unsaved(job.checkpoint_dir)


def _what_is_safe(job: Job, end: ScriptEnd) -> str:
    if end.newest:
        return f"step {end.newest.step} is safe"
    # The leader saves, so another host's empty folder proves nothing.
    return "no complete checkpoint" if job.is_leader else f"see {job.leader}"


def _failure_summary(job: Job, code: int) -> str:
    host = job.current_host
    return f"{job.program} ended with exit code {code} on {host}{describe_signal(code)}"
