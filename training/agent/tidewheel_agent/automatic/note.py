"""What the service has to know of automatic checkpoints, in a file beside the checkpoints."""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from tidewheel_contract import documents
from tidewheel_contract.reading import path_in
from tidewheel_contract.trial import FAILED_RESUME, read_exchanged

from ..checkpoints.kept.pointers import SET_ASIDE_FOLDER
from ..checkpoints.note import read_note
from ..files import change_document, read_document, write_atomically
from ..log import log

_WRITER = "automatic"
_LONGEST_REASON = 400


def read_automatic(folder: Path) -> documents.AutomaticNote:
    """An empty note where there is none, or none that can be read."""
    return (
        read_document(documents.AutomaticNote, path_in(folder, documents.AutomaticNote))
        or documents.AutomaticNote()
    )


def add_to_automatic(
    folder: Path,
    *,
    trial: documents.AutomaticNoteTrial | None = None,
    stopped: documents.AutomaticNoteStopped | None = None,
    offer: documents.AutomaticNoteOffer | None = None,
) -> None:
    """The facts that are known already stay."""
    known = read_automatic(folder)
    note = documents.AutomaticNote(
        trial=_short(trial) if trial else known.trial,
        stopped=_short(stopped) if stopped else known.stopped,
        offer=offer or known.offer,
    )
    change_document(path_in(folder, documents.AutomaticNote), note)


Fact = TypeVar("Fact", documents.AutomaticNoteTrial, documents.AutomaticNoteStopped)


def _short(fact: Fact) -> Fact:
    return replace(fact, reason=fact.reason[:_LONGEST_REASON])


def trial_result(folder: Path) -> str | None:
    trial = read_automatic(folder).trial
    return None if trial is None else trial.result


def reason_without_hooks(folder: Path) -> str | None:
    """Why later attempts of the run get no hooks; None where they get them."""
    note = read_automatic(folder)
    if note.trial is not None and note.trial.result == "refused":
        return note.trial.reason or "their trial has failed"
    if note.stopped is not None and note.stopped.for_good:
        return note.stopped.reason
    return None


def set_aside_automatic_checkpoints(folder: Path, *, leads: bool) -> None:
    """No process can restore them, so they must not count. `leads`: as for `repair`."""
    for path in [*folder.glob("step-*")]:
        if not _is_automatic(path):
            continue
        target = folder / SET_ASIDE_FOLDER / path.name
        try:
            target.parent.mkdir(exist_ok=True)
            shutil.rmtree(target, ignore_errors=True)
            path.replace(target)
        except OSError as error:
            log(f"{path.name} cannot be set aside: {error}")
        if leads and read_note(folder).checkpoint == path.name:
            write_atomically(path_in(folder, documents.ProgressNote), "{}\n")


def _is_automatic(path: Path) -> bool:
    marker = read_document(documents.CompletionMarker, path / documents.CompletionMarker.FILE)
    return marker is not None and marker.writer == _WRITER


@dataclass(frozen=True)
class FailedResume:
    step: int
    reason: str

    def __str__(self) -> str:
        return f"it could not be resumed after step {self.step}: {self.reason}"


def read_failed_resume(folder: Path) -> FailedResume | None:
    """None where no process has reported one."""
    document = read_exchanged(folder / FAILED_RESUME)
    if document is None:
        return None
    step = document.get("step")
    return FailedResume(step if isinstance(step, int) else 0, str(document.get("reason", "")))
