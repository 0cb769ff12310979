"""Before a resumed script starts: what it will log again is forgotten in the trackers' own files.

A tracker's server does this by itself or not at all; this is about files under the checkpoint
folder, which a lost attempt left behind.
"""

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..configuration.job import Job
from ..log import log
from ..series.event_file import EVENT_FILES, EventFile, Restart, session_start
from ..series.point import Point
from .identity import mlflow_folder, run_identity, tracker_environment, trackers_folder
from .mlflow_store import (
    find_mlflow_run,
    forget_lost_metrics,
    move_mlflow_store,
    restore_mlflow_metadata,
)
from .resume_point import ResumePoint, read_resume_point
from .wandb_rows import prepare_wandb

_DEPTH = 5
_MOST_FOLDERS = 2000


def prepare_trackers(job: Job, declared: Mapping[str, str]) -> dict[str, str]:
    """The trackers' variables for the script, over files that end at the checkpoint.

    `declared`: what the pipeline and the host set, which wins.
    """
    identity, folder = run_identity(job), trackers_folder(job)
    if identity is None or folder is None or job.checkpoint_dir is None:
        return tracker_environment(job, None)
    store = mlflow_folder(folder)
    mlflow_run = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        move_mlflow_store(store)
        if restored := restore_mlflow_metadata(store, identity.unique):
            log(
                f"{restored} runs in MLflow's store have their metadata again, which a kill cut off"
            )
        mlflow_run = find_mlflow_run(store, identity.unique)
        resume = read_resume_point(job.checkpoint_dir)
        count = forget_lost_metrics(store, identity.unique, resume) if job.is_leader else 0
        if job.is_leader:
            count += prepare_wandb(folder, resume)
        if resume is not None and job.is_leader:
            count += _forget_in_event_files(job.checkpoint_dir, resume)
            if count:
                log(f"{count} logged points after step {resume.step} are lost and come again")
    except Exception as error:  # A tracker's files must never keep a training from starting.
        log(f"cannot read the trackers' files: {error!r}")
    # The user's own store does not know the run.
    is_own_store = "MLFLOW_TRACKING_URI" not in declared
    return tracker_environment(job, mlflow_run if is_own_store else None)


def _forget_in_event_files(folder: Path, resume: ResumePoint) -> int:
    """Adds the event by which TensorBoard forgets them. The files themselves stay."""
    count, now = 0, time.time()
    for current, names in _folders_with_events(folder):
        points = _shown(current / name for name in sorted(names))
        last = resume.last_before_resume((p.position, p.at or 0.0) for p in points)
        lost = sum(p.position > last for p in points)
        if lost:
            # After the files of earlier attempts and before those of this one, by name.
            marker = current / f"{EVENT_FILES}{int(now) - 1}.zz-tidewheel"
            marker.write_bytes(session_start(int(last) + 1, now))
            count += lost
    return count


def _shown(paths: Iterable[Path]) -> list[Point]:
    """What TensorBoard shows of a folder's files, in their order."""
    points: list[Point] = []
    for path in paths:
        for event in EventFile(path).events():
            if isinstance(event, Restart):
                points = [point for point in points if point.position < event.step]
            else:
                points.append(event)
    return points


def _folders_with_events(folder: Path) -> list[tuple[Path, list[str]]]:
    found = []
    for seen, (name, folders, files) in enumerate(os.walk(folder)):
        if seen > _MOST_FOLDERS:
            break
        current = Path(name)
        if len(current.parts) - len(folder.parts) >= _DEPTH:
            folders.clear()
        events = [each for each in files if each.startswith(EVENT_FILES)]
        if events:
            found.append((current, events))
    return found
