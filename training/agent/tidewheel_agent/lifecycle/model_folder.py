"""What a script leaves as its model: SageMaker and the host on EC2 upload the folder as it is."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ..configuration.job import Job
from ..log import log

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
