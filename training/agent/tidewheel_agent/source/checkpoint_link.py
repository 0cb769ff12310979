"""Makes the folder that a script writes its checkpoints to one that outlives the host."""

from __future__ import annotations

import shutil

from ..configuration.job import Job
from ..configuration.settings import ConfigurationError


def remove_checkpoint_link(job: Job) -> None:
    """A source that is unpacked again must not be written through it."""
    link = job.checkpoint_link
    if link is not None and link.is_symlink():
        link.unlink()


def link_checkpoint_folder(job: Job) -> None:
    """Links the declared folder of the source to the one of the same name below the checkpoints.

    Files that the source has in this folder move there, but replace none of an earlier attempt.
    Raises ConfigurationError where a file has the folder's name.
    """
    rules, link = job.checkpoint_rules, job.checkpoint_link
    if rules is None:
        return
    rules.folder.mkdir(parents=True, exist_ok=True)
    if link is None or link.is_symlink():
        return
    if link.exists() and not link.is_dir():
        raise ConfigurationError(
            [
                f"{link.name} is a file of the source: "
                "name the folder that the script writes to in training.checkpoint.folder"
            ]
        )
    for path in sorted(link.rglob("*")):
        target = rules.folder / path.relative_to(link)
        if path.is_dir():
            target.mkdir(exist_ok=True)
        elif not target.exists():
            shutil.copy2(path, target)
    shutil.rmtree(link, ignore_errors=True)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(rules.folder, target_is_directory=True)
