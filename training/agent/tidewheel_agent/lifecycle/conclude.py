"""The last step: the exit code and the failure text that tell the truth about the end."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ..automatic.note import read_failed_resume
from ..configuration.job import Job
from ..failure_file import describe_signal, failure_text
from ..gang.state import PeerFailure
from ..log import log
from ..platform_failure import platform_failure
from ..supervision.script_source import note_left_unsaved
from ..supervision.supervisor import EXIT_STOPPED, ScriptEnd
from .evaluation import evaluate_model
from .host_run import HostRun, Outcome, peer_failed
from .prepare import Prepared
from .scores import take_scores

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
        if ended_well:
            take_scores(run.job)
            if not end.has_trained_enough:
                evaluate_model(run, prepared)
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
    if end.has_hung:
        text = f"The script hung (no host computed or printed); {safe}"
        log(text)
        return Outcome(EXIT_STOPPED, f"{text}\n")
    if end.was_stopped:
        how = "was ended" if end.was_killed else f"left with exit code {end.script_code}"
        log(f"stopped: the script {how}; {safe}; exit code {end.exit_code}")
        _remember_signal(job, end)
        return Outcome(end.exit_code)
    if end.script_code == 0 and not end.was_killed:
        log(f"{job.program} finished; {safe}")
        return Outcome(0)
    # Whatever a script says of a lost host's absence follows from it.
    if (peer := end.peer_failure) is not None and (
        peer.is_lost or end.was_killed or not tail.names_cause()
    ):
        return peer_failed(peer, safe)
    log(f"{job.program} failed with exit code {end.script_code}; {safe}")
    resume = read_failed_resume(prepared.files.automatic)
    summary = _failure_summary(job, end.script_code) + (f"; {resume}" if resume else "")
    text = failure_text(summary, tail)
    is_full = tail.ends_with_full_disk()
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
        return f"{end.newest.position} is safe"
    # The leader saves, so another host's empty folder proves nothing.
    return "no complete checkpoint" if job.is_leader else f"see {job.leader}"


def _failure_summary(job: Job, code: int) -> str:
    host = job.current_host
    return f"{job.program} ended with exit code {code} on {host}{describe_signal(code)}"


# Python holds the byte B of a name that is not UTF-8 as this plus B (os.fsdecode).
_ESCAPED = 0xDC00
REMEDY = "save the model under SM_MODEL_DIR, or declare training.model: none"


def give_names_in_utf8(folder: Path) -> None:
    """Renames what no S3 key and not every archive can hold; says how.

    Each byte that is not UTF-8 becomes %XX: a model is not lost for the name of a file.
    """
    for parent, folders, files in os.walk(folder, topdown=False):
        for name in [*files, *folders]:
            changed = _in_utf8(name)
            while changed != name and os.path.lexists(os.path.join(parent, changed)):
                changed += "_"
            if changed == name:
                continue
            try:
                os.rename(os.path.join(parent, name), os.path.join(parent, changed))
            except OSError as error:  # too long, perhaps
                log(f"not renamed in the model, though its name is not UTF-8: {name} ({error})")
            else:
                log(f"renamed in the model, since a name has to be UTF-8: {changed}")


def _in_utf8(name: str) -> str:
    return "".join(
        f"%{ord(letter) - _ESCAPED:02X}" if _ESCAPED <= ord(letter) <= _ESCAPED + 0xFF else letter
        for letter in name
    )


def remove_what_cannot_be_kept(folder: Path) -> list[str]:
    """Removes links that lead out of the folder, pipes and sockets; says which and why.

    An upload that follows such a link would publish a file of the host; one that does not would
    hold a link to nothing.
    """
    removed = [f"{path.relative_to(folder)} {why}" for path, why in _cannot_be_kept(folder)]
    for path, _ in list(_cannot_be_kept(folder)):
        path.unlink(missing_ok=True)
    for each in removed:
        log(f"left out of the model: {each}")
    return removed


def _cannot_be_kept(folder: Path) -> Iterator[tuple[Path, str]]:
    root = folder.resolve()
    for path in _entries(folder):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            target = Path(os.path.realpath(path))
            if root not in target.parents:
                yield path, f"(a link to {path.readlink()}, outside of the folder: copy the file)"
            elif not target.exists():
                yield path, f"(a link to {path.readlink()}, which does not exist)"
        elif not stat.S_ISREG(mode):
            yield path, "(neither a file nor a folder)"


def _entries(folder: Path) -> Iterator[Path]:
    """Everything below the folder except folders; links are not followed."""
    for parent, folders, files in os.walk(folder):
        for name in [*files, *(each for each in folders if Path(parent, each).is_symlink())]:
            yield Path(parent, name)


def missing_model(job: Job, removed: list[str]) -> str | None:
    """Why the script has failed although it ended well, or None."""
    if any(_entries(job.base / "model")) or not _must_lie_here(job):
        return None
    left_out = f"; left out of it: {', '.join(removed)}" if removed else ""
    return f"{job.program} ended with exit code 0 and left no model{left_out}: {REMEDY}"


def _must_lie_here(job: Job) -> bool:
    """Ray gives rank 0 to any host that trains, so an empty folder proves nothing there."""
    return job.is_leader and (job.strategy != "ray" or len(job.training_hosts) == 1)
