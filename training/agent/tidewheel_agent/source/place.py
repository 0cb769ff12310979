"""Brings the user's source to the folder that the script runs in."""

from __future__ import annotations

import shutil

from ..configuration.job import Job
from ..configuration.settings import ConfigurationError
from .archive import ARCHIVE, unpack_source
from .checkpoint_link import link_checkpoint_folder, remove_checkpoint_link


def place_source(job: Job) -> None:
    """Fills SM_MODULE_DIR from the channel `code`; raises ConfigurationError without the script.

    The channel holds the archive that the run is pinned to, or the files themselves.
    """
    remove_checkpoint_link(job)
    digest = job.agent_parameters.get("tidewheel_source")
    if isinstance(digest, str):
        unpack_source(job.code_channel / ARCHIVE, digest, job.code_dir)
    elif job.code_channel.is_dir():
        caches = shutil.ignore_patterns("__pycache__", ".git", ".*_cache")
        shutil.copytree(job.code_channel, job.code_dir, dirs_exist_ok=True, ignore=caches)
    if not job.script.command and not (job.code_dir / job.program).is_file():
        found = sorted(p.name for p in job.code_dir.glob("*"))[:20] if job.code_dir.is_dir() else []
        raise ConfigurationError(
            [
                f"{job.program} is not in the source (found: {', '.join(found) or 'nothing'}): "
                "put it under the source prefix or correct entryPoint"
            ]
        )
    if not job.working_dir.is_dir():
        raise ConfigurationError(
            [
                f"{job.script.working_directory} is no folder of the source: "
                "put it under the source prefix or correct workingDirectory"
            ]
        )
    link_checkpoint_folder(job)
